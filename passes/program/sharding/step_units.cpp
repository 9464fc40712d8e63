#include "passes/program/sharding/step_units.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/plan/choices.h"

namespace smelt {
namespace {

void add_memory(const Footprint& touches, Footprint& to) {
  std::ranges::copy_if(touches, std::back_inserter(to), [](const Touch& t) { return t.memory != -1; });
}

}  // namespace

std::vector<StepUnit> take_units(const Program& program, PlanEntry& entry) {
  std::vector<StepUnit> units;
  for (size_t next = 0; next < entry.steps.size();) {
    const StepSpan span = together_with(entry.steps, next);
    StepUnit& unit = units.emplace_back();
    for (; next < span.end; ++next) {
      add_memory(footprint(program, entry.steps[next]), unit.touches);
      unit.steps.push_back(entry.steps[next]);
    }
  }
  entry.steps.clear();
  return units;
}

void put_back(std::vector<StepUnit> units, PlanEntry& entry) {
  for (StepUnit& unit : units) std::ranges::move(unit.steps, std::back_inserter(entry.steps));
}

bool has_collectives(const PlanEntry& entry) {
  return std::ranges::any_of(
      entry.steps, [](const Step& step) { return std::holds_alternative<CollectiveStep>(step.what); });
}

}  // namespace smelt
