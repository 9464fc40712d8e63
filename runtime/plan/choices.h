// Functions about choices (Choice in plan.h). A choice is a contiguous list of steps of an entry. It consists
// of two or more alternatives: shorter lists of steps that do the same work, of which only one runs.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Steps [begin, end) of an entry.
struct StepSpan {
  size_t begin = 0, end = 0;
};

/// Returns all steps of the choice to which `step` belongs, or `step` alone if it belongs to none.
StepSpan together_with(const std::vector<Step>& steps, size_t step);
/// Returns the alternatives of a choice that has these steps, in order.
std::vector<StepSpan> alternatives_of(const std::vector<Step>& steps, const StepSpan& choice);

/// Returns the last step until which a buffer that `step` reads must keep its contents. This is `step`
/// itself if the step is in no choice, or if the choice writes the buffer. Otherwise it is the last step of
/// the choice: when alternatives are measured, all of them run, each several times, and each must find the
/// same contents.
size_t needed_until(const std::vector<Step>& steps, size_t step, int buffer);

/// Returns the last step at which the memory of a buffer that `step` uses must not be given to another
/// buffer. If the step runs concurrently with later steps (waited_at), this is the last step before the one
/// that waits for it. Otherwise it is the result of needed_until if `reads` is true (the step reads the
/// buffer), else `step`.
size_t used_until(const std::vector<Step>& steps, size_t step, int buffer, bool reads);

/// Returns whether an alternative may run at these sizes.
bool may_run(const Choice& choice, int alternative, const SymbolValues& values);
/// Returns the alternative that runs at these sizes if alternatives are not measured.
int unmeasured_alternative(const Choice& choice, const SymbolValues& values);

/// Returns whether a step is in no choice or in the first alternative of its choice. The first alternative
/// represents a choice when no sizes are known.
inline bool is_first_way(const Step& step) { return step.choice < 0 || step.alternative == 0; }

/// Checks that the steps of each choice of the entry are contiguous and in the order of the alternatives, and
/// satisfy the conditions of Choice. Throws Error (invalid_file) if they do not.
void check_choices(const Plan& plan, const PlanEntry& entry);

}  // namespace smelt
