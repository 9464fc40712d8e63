// What the index of a checkpoint in parts says of its states, as JSON: the mesh of the ranks that wrote them,
// and of each state its type, whole shape, cut and segments, from which follows what each part holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

struct StateLayout {
  Mesh mesh;
  std::vector<State> states;  // those that checkpoints hold
};

/// What weights are called in files: the first of the segment's checkpoint names, or its own.
const std::string& file_name_of(const Segment& segment);

std::string state_layout(const Plan& plan);
/// Segments come back under the names that they have in files. Throws Error (invalid_file) naming `file`
/// where the text is broken or describes what cannot be.
StateLayout read_state_layout(std::string_view text, const std::string& file);

}  // namespace smelt
