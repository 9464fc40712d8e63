// Units of steps that stay together when passes move steps.
#pragma once

#include <vector>

#include "ir/analysis/step_footprint.h"

namespace smelt {

/// One step, or all variants of a choice, with the memory that they touch. The unit does not record
/// dependences between ranks: passes move steps alike on all ranks, which keeps collectives in one order.
struct StepUnit {
  std::vector<Step> steps;
  Footprint touches;

  /// Returns the collective of the unit; null if it is none.
  CollectiveStep* collective() { return std::get_if<CollectiveStep>(&steps.front().what); }
};

/// Takes the units out of the entry, which has no steps afterwards.
std::vector<StepUnit> take_units(const Program& program, PlanEntry& entry);
void put_back(std::vector<StepUnit> units, PlanEntry& entry);

bool has_collectives(const PlanEntry& entry);

}  // namespace smelt
