// bucket_collectives: splits the all_reduce of a large flat buffer, such as the buffer of all gradients, into
// buckets, so that each bucket can be summed as soon as its elements are computed.
//
//   all_reduce g[0:n]    =>    all_reduce g[0:m]; all_reduce g[m:n]
//
// A bucket begins where the output of an earlier step begins or ends. It has at least `bytes` bytes, because
// every collective costs a launch and a synchronization of the ranks. The pass also lets an all_reduce with
// constant offsets write its result in place, if no other step needs its operand afterwards. Ensures: each
// element has the same addends as before, so results do not change.
#pragma once

#include <cstdint>

#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

struct BucketCollectivesOptions {
  int64_t bytes = int64_t{128} << 20;  // least bytes per bucket; 0: no split
};

template <typename Field>
void visit_options(Field& field, BucketCollectivesOptions& o) {
  field("bytes", o.bytes);
}
/// Splits the all_reduces; returns whether any was split or is now in place.
bool bucket_collectives(Program& program, const BucketCollectivesOptions& options);

}  // namespace smelt
