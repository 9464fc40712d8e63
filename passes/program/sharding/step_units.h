// Units of steps that stay together when passes move steps.
#pragma once

#include <vector>

#include "ir/analysis/step_footprint.h"

namespace smelt {

/// One step, or all steps of a choice among variants, of which one variant runs.
struct StepUnit {
  std::vector<Step> steps;
  /// Elements that the steps read and write. The order of communication (Touch::memory of -1) is omitted, so
  /// collectives may change their order: all ranks compile the same steps, and so change it alike.
  Footprint touches;

  /// Returns the unit's step if it is a collective, else null.
  CollectiveStep* collective() { return std::get_if<CollectiveStep>(&steps.front().what); }
};

/// Moves the steps of the entry to units, in order. The entry has no steps afterwards.
std::vector<StepUnit> take_units(const Program& program, PlanEntry& entry);
/// Appends the steps of the units to the entry, in order.
void put_back(std::vector<StepUnit> units, PlanEntry& entry);

/// Returns whether any step of the entry is a collective.
bool has_collectives(const PlanEntry& entry);

}  // namespace smelt
