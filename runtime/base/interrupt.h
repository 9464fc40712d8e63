// Interruption of long computations, such as a compilation, by their caller.
#pragma once

#include <functional>

namespace smelt {

/// Lets `check` interrupt this thread's computations until the scope ends, by throwing.
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

/// Runs the check of this thread's innermost scope, if there is one and its last run was 50 ms ago or more.
/// Loops that may run for seconds call this once per iteration.
void poll_interrupt();

}  // namespace smelt
