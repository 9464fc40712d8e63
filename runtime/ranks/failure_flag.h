// The reason why a run cannot continue: raised once, and seen by all waiting threads.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

namespace smelt {

/// May be used by several threads at once.
class FailureFlag {
 public:
  using Listener = std::function<void(const std::string& text)>;

  /// Raises the flag. The first text is kept. Returns whether this was the first.
  bool raise(const std::string& text);
  bool is_raised() const { return raised_.load(std::memory_order_acquire); }
  /// Empty if nothing was raised.
  std::string text() const;
  /// Throws Error (unavailable) with the text, if there is one.
  void check() const;
  /// Sets a function that is called once, by the thread that raises, or at once if the flag is raised
  /// already. It ends waits that cannot see the flag, such as those of a GPU's communicator. It must not
  /// throw.
  void listen(Listener listener);

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> raised_ = false;
  std::string text_;
  Listener listener_;
};

}  // namespace smelt
