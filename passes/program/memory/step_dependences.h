// Dependences of the steps of an entry: a step depends on an earlier one if it reads or overwrites elements
// that the earlier one writes, or overwrites elements that it reads.
#pragma once

#include <vector>

#include "ir/analysis/step_footprint.h"
#include "ir/program/program.h"

namespace smelt {

struct StepDependences {
  std::vector<std::vector<int>> after;  // per step the dependent steps
  std::vector<int> waiting_for;         // per step the number of steps that it depends on
};

StepDependences step_dependences(const std::vector<Footprint>& footprints);

}  // namespace smelt
