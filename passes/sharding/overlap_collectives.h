// overlap_collectives: collectives begin as early as what they read is there, and are waited for as late as
// what they write is needed (CollectiveStep::waited_at), so that a GPU sends while it computes.
//
// Steps of a choice stay together. What puts parts of all ranks together takes more memory than the parts: it
// begins where some of what was put together before it, for earlier steps, is first read, so that what a few
// steps need is under way while what others need is used. A reduce_scatter of temporary memory, such as that
// of gradients, is waited for soon enough that its operand need not stay until its result is read. Contract:
// runs last before plan_memory, since later passes would have to keep the numbers of steps.
#pragma once

#include "ir/program.h"

namespace smelt {

struct OverlapCollectivesOptions {
  /// Of what is put together before it is read; less where all of it is little.
  int64_t bytes_ahead = int64_t{256} << 20;
  /// Of a group of sums whose operands are freed together; less where all of them are little. While one group
  /// is summed another is made.
  int64_t bytes_taken = int64_t{256} << 20;
};

bool overlap_collectives(Program& program, const OverlapCollectivesOptions& options);

}  // namespace smelt
