// The difference between two plans: their steps, matched by the names of their sources.
#pragma once

#include <string>
#include <vector>

#include "compiler/report/reported_plan.h"

namespace smelt {

/// Steps of one plan in the place of steps of the other, by number; one of the two may be empty.
struct StepChange {
  std::vector<int> before, after;
};

struct EntryDiff {
  std::string entry;
  std::vector<StepChange> changes;              // by the first step of each
  std::vector<std::pair<int, int>> equal = {};  // (before, after): the same work for the same sources
  int moved = 0;  // of the equal ones: how many would have to move for all to be in one order
};

struct PlanDiff {
  std::vector<EntryDiff> entries;  // that both have
  std::vector<std::string> only_before, only_after;

  bool is_empty() const;
};

/// Compares plans. Steps are equal if their phase, sources and work are the same: the kernel up to its name,
/// or the sizes and types of any other step. Locations in memory, and the ids of random numbers, are ignored.
PlanDiff diff_plans(const Program& before, const Program& after);

/// Null where the program has no such entry.
const PlanEntry* find_entry(const Program& program, const std::string& name);

/// Returns a readable text: totals of each entry, and every changed step with its number, sources and bytes.
std::string diff_text(const ReportedPlan& before, const ReportedPlan& after);

}  // namespace smelt
