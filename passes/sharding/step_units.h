// Steps of an entry that stay together when others are moved.
#pragma once

#include <vector>

#include "ir/analysis/step_footprint.h"

namespace smelt {

/// One step, or all of a choice, with the memory that they touch. Of what ranks see of one another nothing is
/// in it: that collectives come in one order at all ranks is seen to by moving steps alike everywhere.
struct StepUnit {
  std::vector<Step> steps;
  Footprint touches;

  /// Null where it is none.
  CollectiveStep* collective() { return std::get_if<CollectiveStep>(&steps.front().what); }
};

/// The entry has no steps afterwards.
std::vector<StepUnit> take_units(const Program& program, PlanEntry& entry);
void put_back(std::vector<StepUnit> units, PlanEntry& entry);

bool has_collectives(const PlanEntry& entry);

}  // namespace smelt
