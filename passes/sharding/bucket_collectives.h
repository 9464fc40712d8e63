// bucket_collectives: a sum over ranks of a large flat buffer, such as that of all gradients, becomes sums of
// a few parts of it, so that a part may be summed as soon as its elements are there.
//
// Parts begin where what earlier steps write begins, and hold at least `bytes`: every sum costs a launch and
// the ranks' meeting, so a few large ones are best. Sums of fixed places are made in place. Elements keep
// their operands, so results do not change.
#pragma once

#include <cstdint>

#include "ir/program.h"

namespace smelt {

struct BucketCollectivesOptions {
  int64_t bytes = int64_t{128} << 20;  // of a part, at least; 0: nothing is parted
};

bool bucket_collectives(Program& program, const BucketCollectivesOptions& options);

}  // namespace smelt
