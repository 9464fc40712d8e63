// The difference between two plans. Steps of the plans are matched by the names of their sources (the graph
// nodes that they were made from).
#pragma once

#include <string>
#include <vector>

#include "compiler/report/reported_plan.h"

namespace smelt {

/// A group of neighbouring steps that differs between the plans: the numbers of the steps in the first plan,
/// and of the steps that replace them in the second. One of the two lists may be empty.
struct StepChange {
  std::vector<int> before, after;
};

/// The difference between the two plans' entries of one name.
struct EntryDiff {
  std::string entry;
  std::vector<StepChange> changes;              // in the order of their first steps
  std::vector<std::pair<int, int>> equal = {};  // (before, after): numbers of equal steps
  int moved = 0;  // the smallest number of equal steps that must move so that both plans have the same order
};

/// The difference between two plans.
struct PlanDiff {
  std::vector<EntryDiff> entries;                    // entries that both plans have
  std::vector<std::string> only_before, only_after;  // names of the entries that only one plan has

  /// Returns whether there is no difference: both plans have the same entries, with equal steps in the same
  /// order.
  bool is_empty() const;
};

/// Compares plans. Two steps are equal if they have the same phase, sources and work. The work of a kernel
/// launch is the kernel without its name, and the work of any other step is its kind, sizes and types.
/// Locations in memory, and the ids of random numbers, are ignored.
PlanDiff diff_plans(const Program& before, const Program& after);

/// Returns null if the program has no such entry.
const PlanEntry* find_entry(const Program& program, const std::string& name);

/// Returns a readable text: totals of each entry, and every changed step with its number, sources and bytes.
std::string diff_text(const ReportedPlan& before, const ReportedPlan& after);

}  // namespace smelt
