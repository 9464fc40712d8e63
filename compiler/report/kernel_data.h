// The kernels of a plan as a report shows them.
#pragma once

#include "compiler/report/reported_plan.h"
#include "runtime/system/json_text.h"

namespace smelt {

/// A list of {"name", "text", "language", "code", "schedule", "origins", "resources"?}. `origins` has a list
/// for the kernel and for each kernel within it, in the order of its text: by instruction, the line of the
/// operations' text (graph_data.h) that it was lowered from, or -1.
Json kernels_data(const ReportedPlan& plan);

}  // namespace smelt
