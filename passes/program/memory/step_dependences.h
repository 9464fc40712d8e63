// Dependences of the steps of an entry: a step depends on an earlier one if it reads or overwrites elements
// that the earlier one writes, or overwrites elements that the earlier one reads.
#pragma once

#include <vector>

#include "ir/analysis/step_footprint.h"
#include "ir/program/program.h"

namespace smelt {

/// Dependences of all steps. Steps are represented by their indices.
struct StepDependences {
  std::vector<std::vector<int>> after;  // per step, the later steps that depend on it
  std::vector<int> waiting_for;         // per step, the number of earlier steps on which it depends
};

/// Returns the dependences of steps. `footprints` has the memory accesses of each step, in the order of the
/// steps.
StepDependences step_dependences(const std::vector<Footprint>& footprints);

}  // namespace smelt
