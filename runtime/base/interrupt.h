// Interruption of long computations, such as a compilation, by their caller.
#pragma once

#include <functional>

namespace smelt {

/// Scope in which `check` may interrupt the computations of the thread that created it. poll_interrupt calls
/// `check`, which interrupts by throwing an exception. An inner scope hides the outer one.
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

/// Calls the check of this thread's innermost scope, if there is one, and if the thread's last call of a
/// check was at least 50 ms ago. Loops that may run for seconds call this function once per iteration.
void poll_interrupt();

}  // namespace smelt
