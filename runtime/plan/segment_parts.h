// Segments of which ranks hold parts: what the parts are of, and where a rank's part lies in it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Whether ranks hold parts of it.
bool is_cut(const Segment& segment);
/// The shape over all ranks.
const std::vector<int64_t>& whole_shape(const Segment& segment);
/// The shape of its tensor in a checkpoint.
std::vector<int64_t> stored_shape(const Segment& segment);
/// The axes of the mesh, as numbers, that cut each dim; throws Error where the mesh lacks one.
std::vector<std::vector<size_t>> axes_of(const Segment& segment, const Mesh& mesh);
/// Of each dim the number of the part that the rank at this place of the mesh holds: 0, 1, ...
std::vector<int64_t> part_numbers(const Segment& segment, const Mesh& mesh,
                                  std::span<const int64_t> coordinates);
/// Elements that lie together in a rank's part and in the whole, counted from the begin of either.
struct PartRun {
  int64_t in_part, in_whole, elements;
};
/// All of the rank's part, in order; of a segment that is not cut one run.
std::vector<PartRun> part_runs(const Segment& segment, const Mesh& mesh,
                               std::span<const int64_t> coordinates);
/// Everything that is wrong with how the segment is cut, which may come from a file; empty: nothing is.
std::vector<std::string> cut_faults(const Segment& segment, const Mesh& mesh);

}  // namespace smelt
