// Which steps of an entry must follow which: those that read or overwrite elements which an earlier step
// touches.
#pragma once

#include <vector>

#include "ir/analysis/step_footprint.h"
#include "ir/program.h"

namespace smelt {

struct StepDependences {
  std::vector<std::vector<int>> after;  // of every step, those that come later
  std::vector<int> waiting_for;         // how many steps come before
};

StepDependences step_dependences(const std::vector<Footprint>& footprints);

}  // namespace smelt
