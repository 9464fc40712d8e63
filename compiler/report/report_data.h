// The data of a report, as JSON, by section.
#pragma once

#include <optional>

#include "compiler/report/node_links.h"
#include "compiler/report/plan_diff.h"
#include "compiler/report/reported_plan.h"
#include "compiler/report/step_times.h"
#include "compiler/report/text_pool.h"
#include "runtime/system/json_text.h"

namespace smelt {

// ---- report_data.cpp
// Everything that a report shows, as one JSON object; the page's scripts read nothing else.

struct ReportOptions {
  std::string command;  // as it was typed
  StepTimes times;      // measured; where there are none, times are estimated
  const ReportedPlan* against = nullptr;
};

/// Returns {"head", "rates", "texts", "kernels", "states", "entries", "refusals", "diff"?}, as in
/// docs/report.md. Frequent names are replaced by the numbers of texts.
Json report_data(const ReportedPlan& plan, const ReportOptions& options);

// ---- compact_data.cpp
// Compression of report data for pages: lists of alike objects become tables, and lines that occur in several
// texts are stored once. `unpacked` of compiler/report/page/shared/elements.js is the inverse.

/// Returns {"lines": [text], "data": data}, in which
///   a list of two or more objects is {"fields": [name], "words": [null or [text]], "rows": [[value]]}: a
///     field that a row lacks is null, or missing at the end of the row, and where all values of a field are
///     texts, `words` has them and the rows their numbers;
///   a text of several lines is {"lines": [number of a line that occurs elsewhere, too, or text]}.
Json compact(const Json& data);

// ---- diff_data.cpp
// The differences of two plans as a report shows them.

/// {"against", "target", "entries": {name: {"equal", "moved", "changes": [{"before", "after"}], "before",
/// "after"}}, "only_before", "only_after"}
Json diff_data(const ReportedPlan& before, const ReportedPlan& after);

// ---- entry_data.cpp
// One entry of a plan as a report shows it.

/// {"name", "summary", "memory", "steps", "choices", "buffers", "graph", "kernels", "borders"}
Json entry_data(const ReportedPlan& plan, const PlanEntry& entry, const StepTimes& times, TextPool& texts);

// ---- graph_data.cpp
// The fused graph of an entry as a report draws it: nodes, what is in them, and the bytes between them.

/// Returns one object per node, in program order; operands are [position of the node, result] and results are
/// [type, bytes at the bounds]. Texts are stored in the pool.
///   {"op", "source", "layer", "phase", "kind": "leaf"|"view"|"effect"|"step", "in", "out", "body"?: text,
///    "steps": [numbers]}
Json graph_data(const Graph& graph, const std::vector<NodeSteps>& links, TextPool& texts);

/// The nodes of a body in reading_order, a line each, numbered from %0; its inputs are %a0, %a1, ...
std::string body_text(const Graph& body);

// ---- kernel_data.cpp
// The kernels of a plan as a report shows them.

/// A list of {"name", "text", "language", "code", "schedule", "origins", "resources"?}. `origins` has a list
/// for the kernel and for each kernel within it, in the order of its text: by instruction, the line of the
/// operations' text that it was lowered from, or -1.
Json kernels_data(const ReportedPlan& plan);

}  // namespace smelt
