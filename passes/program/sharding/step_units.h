// Units of steps that stay together when passes move steps.
#pragma once

#include <vector>

#include "ir/analysis/step_footprint.h"

namespace smelt {

/// One step, or all steps of a choice (runtime/plan/choices.h).
struct StepUnit {
  std::vector<Step> steps;
  /// Elements that the steps read and write. Accesses with Touch::memory -1, which keep collectives in order,
  /// are omitted, because passes that move units may reorder collectives. The new order is the same on all
  /// ranks, because all ranks compile the same steps.
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
