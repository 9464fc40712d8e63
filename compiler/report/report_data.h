// The data of a report (`smelt report`), as JSON, by section. docs/guides/report.md describes the members.
// Below, "?" follows the name of a member that may be missing.
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
// All data of a report, as one JSON object. The page's scripts read nothing else.

/// The contents of a report in addition to the plan.
struct ReportOptions {
  std::string command;  // the command line
  StepTimes times;      // measured times of steps; the times of all other steps are estimated
  const ReportedPlan* against = nullptr;  // plan to compare with; null: none
};

/// Returns {"head", "rates", "texts", "kernels", "states", "entries", "refusals", "diff"?}. Frequent names
/// are replaced by indices into "texts".
Json report_data(const ReportedPlan& plan, const ReportOptions& options);

// ---- compact_data.cpp
// Compression of report data for pages: lists of objects become tables, and lines that occur in several texts
// are stored once. The function `unpacked` in compiler/report/page/shared/elements.js is the inverse.

/// Returns {"lines": [text], "data": data}, in which lists and texts are replaced as follows.
///
/// A list of two or more objects becomes {"fields": [name], "words": [null or [text]], "rows": [[value]]}. A
/// field that a row lacks is null, or missing at the end of the row. If all values of a field are texts,
/// "words" has the distinct texts, and the rows have indices into them.
///
/// A text of several lines becomes {"lines": [...]}. An element is a text of one or more lines, or an index
/// into the outer "lines". Lines that occur several times are stored in the outer "lines".
Json compact(const Json& data);

// ---- diff_data.cpp
// The differences of two plans as a report shows them.

/// Returns {"against", "target", "entries": {name: {"equal", "moved", "changes": [{"before", "after"}],
/// "before", "after"}}, "only_before", "only_after"}. "equal" is the number of steps that both plans have,
/// and "moved" is the number of these that are at another position. An element of "changes" has the steps
/// that differ. The "before" and "after" of an entry are totals of all its steps.
Json diff_data(const ReportedPlan& before, const ReportedPlan& after);

// ---- entry_data.cpp
// One entry of a plan as a report shows it.

/// Returns {"name", "summary", "memory", "steps", "choices", "buffers", "graph", "kernels", "borders"}. Texts
/// are stored in the pool `texts`, and the result has indices into it.
Json entry_data(const ReportedPlan& plan, const PlanEntry& entry, const StepTimes& times, TextPool& texts);

// ---- graph_data.cpp
// The fused graph of an entry as a report draws it: nodes, the operations in a fused node (its body), and the
// bytes that nodes exchange.

/// Returns one object per node, in program order:
///   {"op", "source", "layer", "phase", "kind": "leaf"|"view"|"effect"|"step", "in", "out", "body"?: text,
///    "steps": [numbers]}
/// "in" has a pair [position of the node, number of its result] per operand, and "out" a pair [type, bytes at
/// the symbols' bounds] per result. "steps" has the numbers of the plan's steps that compute the node, from
/// `links`. Texts are stored in the pool `texts`.
Json graph_data(const Graph& graph, const std::vector<NodeSteps>& links, TextPool& texts);

/// Returns the nodes of a fused node's body as text, in reading_order (ir/analysis/reading_order.h), one per
/// line, numbered from %0. Inputs are named %a0, %a1, ...
std::string body_text(const Graph& body);

// ---- kernel_data.cpp
// The kernels of a plan as a report shows them.

/// Returns a list of {"name", "text", "language", "code", "schedule", "origins", "resources"?}. "origins" has
/// one list for the kernel and one for each kernel that is fused into its launch, in the order of the text.
/// Each list has one number per instruction: the line of body_text that the instruction was lowered from, or
/// -1 if there is none.
Json kernels_data(const ReportedPlan& plan);

}  // namespace smelt
