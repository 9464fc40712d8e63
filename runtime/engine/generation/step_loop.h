// The step loop of generation. A step reads one more token of each row of a batch. A policy is a class that
// starts steps and takes their results, such as sampled tokens or beams. The results are chosen by the host
// from logits, or by an entry of the plan. If an entry chooses them, several steps may be started before the
// host takes the results of the first.
//
// Functions of a policy:
//   bool goes_on() const        returns whether a row needs another step
//   int64_t start()             starts steps, and returns the number of steps that may stay under way
//   int64_t under_way() const   returns the number of started steps whose results were not taken
//   void take()                 takes the results of the first step under way
#pragma once

#include <cstdint>

namespace smelt {

/// Starts steps, and takes results until no more steps are under way than start() allows.
template <typename Policy>
void advance(Policy& policy) {
  const int64_t most = policy.start();
  while (policy.under_way() > most) policy.take();
}

/// Calls `advance` until no row needs another step.
template <typename Policy>
void run_steps(Policy&& policy) {
  while (policy.goes_on()) advance(policy);
}

}  // namespace smelt
