// overlap_collectives: starts collectives as soon as their operands are computed, and waits for them when
// their results are needed (CollectiveStep::waited_at), so that a GPU communicates while it computes.
//
//   a; b; c = all_reduce a; use c    =>    a; c = all_reduce a; b; (wait for c) use c
//
// Steps of a choice of variants stay together. A gather takes more memory than its parts, so it begins at the
// first reader of an earlier gather's result: the gather for a few steps is then in progress while the
// previous one is used. A reduce_scatter of temporary memory, such as that of gradients, is waited for early
// enough that its operand need not stay until its result is read. Runs last before plan_memory, because later
// passes would have to keep the numbers of steps.
#pragma once

#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

struct OverlapCollectivesOptions {
  /// Most bytes gathered before they are read; less if the gathers are small in total.
  int64_t bytes_ahead = int64_t{256} << 20;
  /// Bytes of a group of sums whose operands are freed together; less if the sums are small in total. While
  /// one group is summed, the next one is computed.
  int64_t bytes_taken = int64_t{256} << 20;
};

template <typename Field>
void visit_options(Field& field, OverlapCollectivesOptions& o) {
  field("bytes_ahead", o.bytes_ahead), field("bytes_taken", o.bytes_taken);
}
bool overlap_collectives(Program& program, const OverlapCollectivesOptions& options);

}  // namespace smelt
