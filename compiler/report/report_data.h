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

/// {"head", "rates", "texts", "kernels", "states", "entries", "refusals", "diff"?}: docs/report.md says what
/// is in each. Numbers of texts stand for names that occur often.
Json report_data(const ReportedPlan& plan, const ReportOptions& options);

}  // namespace smelt
