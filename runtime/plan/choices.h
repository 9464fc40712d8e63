// Choices: groups of steps that are alternatives of one another (Choice).
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Steps [begin, end) of an entry.
struct StepSpan {
  size_t begin = 0, end = 0;
};

/// Returns all steps of the choice that `step` is part of, or `step` alone if it is part of none.
StepSpan together_with(const std::vector<Step>& steps, size_t step);
/// Returns the alternatives of a choice that has these steps, in order.
std::vector<StepSpan> alternatives_of(const std::vector<Step>& steps, const StepSpan& choice);

/// Returns the last step at which a buffer that `step` reads must keep its contents. All alternatives of a
/// choice may run, and run again, so data from before a choice are kept until its end.
size_t needed_until(const std::vector<Step>& steps, size_t step, int buffer);

/// Returns the last step at which a buffer that `step` reads or writes must have its memory: that of
/// needed_until, or, for a step that runs concurrently with later ones (waited_at), the last of these.
size_t used_until(const std::vector<Step>& steps, size_t step, int buffer, bool reads);

/// Returns whether an alternative may run at these sizes, and the one that runs if nothing is measured.
bool may_run(const Choice& choice, int alternative, const SymbolValues& values);
int unmeasured_alternative(const Choice& choice, const SymbolValues& values);

/// Returns whether a step represents its choice when no sizes are known.
inline bool is_first_way(const Step& step) { return step.choice < 0 || step.alternative == 0; }

/// Checks that the steps of a choice are contiguous and in order, and satisfy the conditions of Choice.
/// Throws Error (invalid_file).
void check_choices(const Plan& plan, const PlanEntry& entry);

}  // namespace smelt
