// Sharded segments: the positions of a rank's elements in the whole segment.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Returns whether ranks hold parts of the segment.
bool is_cut(const Segment& segment);
/// Returns the shape over all ranks.
const std::vector<int64_t>& whole_shape(const Segment& segment);
/// Returns the shape of its tensor in a checkpoint.
std::vector<int64_t> stored_shape(const Segment& segment);
/// The axes of the mesh, as numbers, that cut each dim; throws Error if the mesh lacks one.
std::vector<std::vector<size_t>> axes_of(const Segment& segment, const Mesh& mesh);
/// Returns for each dim the number of the part that the rank at these `coordinates` of the mesh holds: 0, 1,
/// ...
std::vector<int64_t> part_numbers(const Segment& segment, const Mesh& mesh,
                                  std::span<const int64_t> coordinates);
/// Elements that are contiguous in a rank's part and in the whole; offsets are from the begin of either.
struct PartRun {
  int64_t in_part, in_whole, elements;
};
/// Returns the runs of the rank's part, in order; one run for a segment that is not sharded.
std::vector<PartRun> part_runs(const Segment& segment, const Mesh& mesh,
                               std::span<const int64_t> coordinates);
/// Returns all faults of the segment's sharding, which may come from a file; empty if it has none.
std::vector<std::string> cut_faults(const Segment& segment, const Mesh& mesh);

}  // namespace smelt
