// Everything that a report shows, as one JSON object; the page's scripts read nothing else.
#pragma once

#include <optional>

#include "compiler/report/reported_plan.h"
#include "compiler/report/step_times.h"
#include "runtime/system/json_text.h"

namespace smelt {

struct ReportOptions {
  std::string command;  // as it was typed
  StepTimes times;      // measured; where there are none, times are estimated
  const ReportedPlan* against = nullptr;
};

/// Returns {"head", "rates", "texts", "kernels", "states", "entries", "refusals", "diff"?}, as in
/// docs/report.md. Frequent names are replaced by the numbers of texts.
Json report_data(const ReportedPlan& plan, const ReportOptions& options);

}  // namespace smelt
