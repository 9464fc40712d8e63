// Sharding of a segment (Segment::cut), a named tensor in a flat state such as one weight of "parameters".
// The functions map the elements of the part that one rank holds to positions in the whole segment.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Returns whether the segment is sharded.
bool is_cut(const Segment& segment);
/// Returns the segment's shape over all ranks: Segment::whole, or Segment::shape if the segment is not
/// sharded.
const std::vector<int64_t>& whole_shape(const Segment& segment);
/// Returns the shape of the segment's tensor in a checkpoint, which depends on Segment::per_byte,
/// Segment::stacked and Segment::transposed.
std::vector<int64_t> stored_shape(const Segment& segment);
/// Returns for each dim of the segment the indices of the mesh axes that shard it. Throws Error if the mesh
/// lacks an axis.
std::vector<std::vector<size_t>> axes_of(const Segment& segment, const Mesh& mesh);
/// Returns for each dim of the segment the number (from 0 on) of the slice that the rank at these
/// `coordinates` of the mesh holds.
std::vector<int64_t> part_numbers(const Segment& segment, const Mesh& mesh,
                                  std::span<const int64_t> coordinates);
/// A sequence of elements that are contiguous in a rank's part and in the whole segment. `in_part` and
/// `in_whole` are the offsets of the first one, in elements.
struct PartRun {
  int64_t in_part, in_whole, elements;
};
/// Returns the runs that make up the part of the rank at these `coordinates`, in order; one run for a segment
/// that is not sharded.
std::vector<PartRun> part_runs(const Segment& segment, const Mesh& mesh,
                               std::span<const int64_t> coordinates);
/// Returns a text for each fault of the segment's sharding, which may come from a file; empty if there is
/// none.
std::vector<std::string> cut_faults(const Segment& segment, const Mesh& mesh);

}  // namespace smelt
