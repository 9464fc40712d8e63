// Interruption of long computations, such as a compilation, by their caller.
#pragma once

#include <functional>

namespace smelt {

/// Scope in which the computations of the current thread can be interrupted. poll_interrupt calls `check`,
/// which throws an exception if the computation is to end. Scopes may be nested; only the `check` of the
/// innermost one is called.
class InterruptScope {
 public:
  explicit InterruptScope(std::function<void()> check);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  std::function<void()> check_;
  const std::function<void()>* outer_;
};

/// Calls the `check` of this thread's innermost scope. Does nothing if there is no scope, or if the thread
/// called a check less than 50 ms ago. Loops that may run for seconds call this function once per iteration.
void poll_interrupt();

}  // namespace smelt
