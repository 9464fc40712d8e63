// The differences of two plans as a report shows them.
#pragma once

#include "compiler/report/plan_diff.h"
#include "runtime/system/json_text.h"

namespace smelt {

/// {"against", "target", "entries": {name: {"equal", "moved", "changes": [{"before", "after"}], "before",
/// "after"}}, "only_before", "only_after"}
Json diff_data(const ReportedPlan& before, const ReportedPlan& after);

}  // namespace smelt
