// One entry of a plan as a report shows it.
#pragma once

#include "compiler/report/report_data.h"
#include "compiler/report/text_pool.h"

namespace smelt {

/// {"name", "summary", "memory", "steps", "choices", "buffers", "graph", "kernels", "borders"}
Json entry_data(const ReportedPlan& plan, const PlanEntry& entry, const StepTimes& times, TextPool& texts);

}  // namespace smelt
