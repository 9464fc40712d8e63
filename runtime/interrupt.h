// Interruption of long computations, such as a compilation, by who called for them.
#pragma once

#include <functional>

namespace smelt {

/// Lets `check` interrupt what this thread computes until the scope ends: it throws to do so.
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
/// Loops that may run for seconds call this once per turn.
void poll_interrupt();

}  // namespace smelt
