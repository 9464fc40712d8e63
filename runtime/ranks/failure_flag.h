// A flag for the failure of a run. It is raised once, with the reason, and is read by the threads of a
// process that wait for other ranks.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

namespace smelt {

/// All functions may be called by several threads at once.
class FailureFlag {
 public:
  using Listener = std::function<void(const std::string& text)>;

  /// Raises the flag with `text` if it is not raised. Returns whether this call has raised it.
  bool raise(const std::string& text);
  bool is_raised() const { return raised_.load(std::memory_order_acquire); }
  /// Returns the text with which the flag was raised; empty if it is not raised.
  std::string text() const;
  /// Throws Error (unavailable) with the text if the flag is raised.
  void check() const;
  /// Sets the listener, in place of an earlier one. The listener is called once with the text, by the thread
  /// that raises the flag, or by this call if the flag is raised already. It can end waits that do not read
  /// the flag, such as those of a GPU's communicator. It must not throw. An empty function removes the
  /// listener.
  void listen(Listener listener);

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> raised_ = false;
  std::string text_;
  Listener listener_;
};

}  // namespace smelt
