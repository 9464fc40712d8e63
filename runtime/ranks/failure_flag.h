// Why a run cannot go on: raised once, seen by whoever waits.
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

  /// The first text stays. Returns whether this was the first.
  bool raise(const std::string& text);
  bool is_raised() const { return raised_.load(std::memory_order_acquire); }
  /// Empty where nothing was raised.
  std::string text() const;
  /// Throws Error (unavailable) with the text, if there is one.
  void check() const;
  /// Called once, by the thread that raises, or at once where it was raised before: what must be told from
  /// outside that nobody will come, such as a GPU's communicator. It must not throw.
  void listen(Listener listener);

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> raised_ = false;
  std::string text_;
  Listener listener_;
};

}  // namespace smelt
