// overlap_collectives: starts collectives early, and lets the step that first needs a result wait for it
// (CollectiveStep::waited_at), so that a GPU communicates while it computes.
//
//   a; b; c = all_reduce a; use c    =>    a; c = all_reduce a; b; (wait for c) use c
//
// An all_reduce or a reduce_scatter starts as soon as its operand is computed. An all_gather or an all_to_all
// (a gather) may start later, because its result occupies memory from the start of the gather. The gather
// starts when at most about `bytes_ahead` bytes are gathered but not read yet. If the operand of a
// reduce_scatter is in temporary memory, as gradients are, the wait may come long before the first reader of
// the result, because the memory of the operand is free only after the wait (see `bytes_taken`). If the same
// work has several variants, of which one is selected at run time, their steps stay together. Runs after
// all passes that move steps, because CollectiveStep::waited_at is the number of a step. The pass
// stream_states runs after this pass and inserts steps; it updates waited_at.
#pragma once

#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

struct OverlapCollectivesOptions {
  /// Approximate number of bytes that are gathered and not read yet; limited to 1/16 of all bytes that the
  /// entry gathers.
  int64_t bytes_ahead = int64_t{256} << 20;
  /// Consecutive reduce_scatters with operands in temporary memory form groups. A group ends as soon as its
  /// operands have at least this number of bytes together. The number is limited to 1/16 of the bytes of all
  /// such operands of the entry. While the sums of one group are computed, the operands of the next group are
  /// computed. The operands of the first group are freed before the third group begins.
  int64_t bytes_taken = int64_t{256} << 20;
};

template <typename Field>
void visit_options(Field& field, OverlapCollectivesOptions& o) {
  field("bytes_ahead", o.bytes_ahead), field("bytes_taken", o.bytes_taken);
}
/// Moves the collectives and sets their waits; returns whether any entry has collectives.
bool overlap_collectives(Program& program, const OverlapCollectivesOptions& options);

}  // namespace smelt
