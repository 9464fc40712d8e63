// overlap_collectives: starts collectives as soon as their operands are computed, and lets the step that
// first needs a result wait for it (CollectiveStep::waited_at), so that a GPU communicates while it computes.
//
//   a; b; c = all_reduce a; use c    =>    a; c = all_reduce a; b; (wait for c) use c
//
// Steps of a choice among variants stay together. The result of a gather takes more memory than its operand,
// so a gather does not begin as early as possible. It begins at the first reader of an earlier gather's
// result, so that about `bytes_ahead` bytes are gathered before they are read: the gather for a few steps is
// then in progress while the result of the previous one is used. A reduce_scatter of temporary memory, such
// as gradients, is waited for early, so that its operand's memory is free long before its result is read.
// Runs after all passes that move steps, because CollectiveStep::waited_at is the number of a step;
// stream_states, which inserts steps later, updates it.
#pragma once

#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

struct OverlapCollectivesOptions {
  /// Approximate bytes that are gathered before they are read; at most 1/16 of all gathered bytes of the
  /// entry.
  int64_t bytes_ahead = int64_t{256} << 20;
  /// Least bytes of the operands of a group of reduce_scatters, whose memory is freed together; at most 1/16
  /// of all such operands of the entry. While one group is summed, the operands of the next are computed.
  int64_t bytes_taken = int64_t{256} << 20;
};

template <typename Field>
void visit_options(Field& field, OverlapCollectivesOptions& o) {
  field("bytes_ahead", o.bytes_ahead), field("bytes_taken", o.bytes_taken);
}
/// Moves the collectives and sets their waits; returns whether any entry has collectives.
bool overlap_collectives(Program& program, const OverlapCollectivesOptions& options);

}  // namespace smelt
