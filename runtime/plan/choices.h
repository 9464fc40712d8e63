// Steps that are alternatives of one another (Choice).
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Steps [begin, end) of an entry.
struct StepSpan {
  size_t begin = 0, end = 0;
};

/// All steps of the choice that a step is part of; of any other step, it alone.
StepSpan together_with(const std::vector<Step>& steps, size_t step);
/// The alternatives of a choice that has these steps, in order.
std::vector<StepSpan> alternatives_of(const std::vector<Step>& steps, const StepSpan& choice);

/// The last step at which a buffer that this one reads must be as it is: alternatives may all run, and run
/// again, so what comes from before a choice stays until its end.
size_t needed_until(const std::vector<Step>& steps, size_t step, int buffer);

/// The last step at which a buffer that this one reads, or writes, must have its memory: that of
/// needed_until, and of one that runs beside later steps (waited_at) the last of them.
size_t used_until(const std::vector<Step>& steps, size_t step, int buffer, bool reads);

/// Whether an alternative may run at these sizes, and the one that does where nothing is measured.
bool may_run(const Choice& choice, int alternative, const SymbolValues& values);
int unmeasured_alternative(const Choice& choice, const SymbolValues& values);

/// Whether a step stands for its choice where no sizes are known.
inline bool is_first_way(const Step& step) { return step.choice < 0 || step.alternative == 0; }

/// That steps of a choice stand together in order, and keep what Choice promises. Throws Error
/// (invalid_file).
void check_choices(const Plan& plan, const PlanEntry& entry);

}  // namespace smelt
