// Index of a checkpoint in parts, as JSON: the mesh of the ranks that wrote it, and for each state its type,
// whole shape, sharding and segments, which determine the contents of each part. Pipeline stages have states
// of the same names with segments of their own, and one list each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

struct StateLayout {
  Mesh mesh;
  std::vector<State> states;  // those that checkpoints hold; of a pipeline those of all stages together
  std::vector<std::vector<State>> stages = {};  // of a pipeline, by stage

  /// Those of the rank's own files.
  const std::vector<State>& states_of(int64_t rank) const;
};

/// Returns the name of a weight in files: the first of the segment's checkpoint names, or its own.
const std::string& file_name_of(const Segment& segment);

std::string state_layout(const Plan& plan);
/// The layout of a pipeline, from the layouts of all ranks in their order.
std::string join_layouts(const Mesh& mesh, const std::vector<std::string>& layouts);
/// Returns the states of all stages: flat ones have the segments of each, the first that has one counts.
std::vector<State> united(const std::vector<std::vector<State>>& stages);
/// Reads a layout. Segments have the names that they have in files. Throws Error (invalid_file) naming `file`
/// if the text is broken or inconsistent.
StateLayout read_state_layout(std::string_view text, const std::string& file);

}  // namespace smelt
