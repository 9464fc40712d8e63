// bucket_collectives: splits the all_reduce of a large flat buffer, such as that of all gradients, into
// buckets, so that each can be summed as soon as its elements are computed.
//
//   all_reduce g[0:n]    =>    all_reduce g[0:m]; all_reduce g[m:n]
//
// A bucket begins where the output of an earlier step begins, and holds at least `bytes`: every collective
// costs a launch and a synchronisation of the ranks, so a few large ones are best. Sums in memory with
// constant offsets are made in place. Ensures: elements keep their operands, so results do not change.
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
bool bucket_collectives(Program& program, const BucketCollectivesOptions& options);

}  // namespace smelt
