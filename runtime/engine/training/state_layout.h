// Layout of the states in a checkpoint that consists of one file per rank, as JSON. It contains the mesh of
// the ranks that wrote the files, and the type, shape over all ranks, sharding and segments of each state. A
// flat state holds many tensors one after another, which are its segments. These data determine the elements
// in each file. A pipeline has one list of states per stage, because states of the same name have different
// segments on each stage.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

struct StateLayout {
  Mesh mesh;
  std::vector<State> states;                    // the saved states; for a pipeline, united(stages)
  std::vector<std::vector<State>> stages = {};  // the saved states of each stage; empty without a pipeline

  /// Returns the states whose elements are in the files of rank number `rank`.
  const std::vector<State>& states_of(int64_t rank) const;
};

/// Returns the name of a weight in files: the first of the segment's checkpoint names, or the segment's own
/// name if it has none.
const std::string& file_name_of(const Segment& segment);

/// Returns the layout of the plan's saved states.
std::string state_layout(const Plan& plan);
/// Returns the layout of a pipeline. `layouts` has the layout of each rank's plan, in rank order. Requires:
/// the mesh has an axis of stages.
std::string join_layouts(const Mesh& mesh, const std::vector<std::string>& layouts);
/// Returns the states of all stages, each name once. A flat state gets the segments of all stages, one after
/// the other, each with its shape over all ranks. A segment that several stages have is taken from the first
/// of them.
std::vector<State> united(const std::vector<std::vector<State>>& stages);
/// Reads a layout. The segments get the names that they have in files. Throws Error (invalid_file) naming
/// `file` if the text is broken or a state is inconsistent. Throws Error if the mesh is invalid.
StateLayout read_state_layout(std::string_view text, const std::string& file);

}  // namespace smelt
