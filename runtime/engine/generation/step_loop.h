// The loop of generation. A step reads one more token of each row of a batch. A policy starts steps and takes
// what they give: tokens that are drawn, beams, or requests' tokens, chosen by the host from logits or by an
// entry of the plan that runs ahead of the host.
//
// A policy has
//   bool goes_on() const        whether rows want another step
//   int64_t start()             starts the steps that are due; returns how many may stay under way
//   int64_t under_way() const   the number of steps that were started and not taken
//   void take()                 gives each row its result of the first step under way
#pragma once

#include <cstdint>

namespace smelt {

/// Starts steps and takes those that are due.
template <typename Policy>
void advance(Policy& policy) {
  const int64_t most = policy.start();
  while (policy.under_way() > most) policy.take();
}

template <typename Policy>
void run_steps(Policy&& policy) {
  while (policy.goes_on()) advance(policy);
}

}  // namespace smelt
