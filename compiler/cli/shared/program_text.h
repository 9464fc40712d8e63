// Texts about a program, for dump and train.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/compile.h"
#include "compiler/search/machine_rates.h"
#include "ir/program/program.h"
#include "passes/graph/fusion/fusion_report.h"
#include "runtime/session/executor.h"

namespace smelt::cli {

// ---- choice_text.cpp
// Text about steps that have several variants, in tables and records.

/// Returns " [wgmma]": the variant that a step is a part of; empty for other steps.
std::string alternative_text(const PlanEntry& entry, const Step& step);

/// Returns a line for each kind of work that has variants.
std::string choices_text(const Plan& plan);

/// Returns the taken variants by kind of work: {"h.*.attention (forward)": "wgmma"}; several where sizes
/// differ.
std::map<std::string, std::string> taken_alternatives(const std::vector<ChoiceTaken>& taken);

// ---- collective_summary.cpp
// The collectives of each entry of a program and their predicted cost: a part of dump --summary.

/// Returns the collectives by kind and axis, the hidden and exposed time of each entry, and formulas next to
/// the planned values (compiler/search/rank_formulas.h). Empty for a program of one rank.
std::string collectives_text(const Program& program, const MachineRates& rates);

// ---- explain_fusion.cpp
// --explain-fusion as text: kernels that differ only in their layer are described once.

/// Returns a paragraph for each kind of kernel: its number, its operations, the bytes it reads and writes,
/// and the reason why each unfused neighbour stayed apart. `filter` keeps kernels whose sources contain it.
std::string explain_fusion(const FusionReport& report, std::string_view filter);

/// Returns a line, with the reason, for each composite that was decomposed although kernels for some exist.
std::string refusals_text(const FusionReport& report, std::string_view filter);

/// Each distinct line once, preceded by how often it occurs.
std::string counted_lines(const std::vector<std::string>& lines);

/// "h.*.ln_1" of "h.3.ln_1", wherever a number is a part of a name by itself.
std::string without_layers(std::string_view source);

// ---- memory_curve_text.cpp
// The table of recomputation policies that a memory budget chooses from.

/// Every policy: its memory, what is kept and its share of the first one's, predicted time, FLOP computed
/// again;
/// `>` marks the one that a budget takes. Empty for no points.
std::string curve_text(const Compilation& compilation, std::optional<int64_t> budget);

// ---- step_text.cpp
// Names of a program's steps in tables.

/// "k0_reduce5x2", "gemm 2048x384x128", "sort_index", ...
std::string step_name(const Program& program, const Step& step);
/// The names it came from, shortened to `width`.
std::string step_sources(const Step& step, size_t width);

// ---- summary_tables.cpp
// The tables of `smelt dump --summary` that are of the whole compilation.

/// Launches and bytes of every entry before and after fusion, the memory of each by role and, where there is
/// a mesh, what a rank keeps of the states.
std::string summary_tables(const Compilation& compilation);

}  // namespace smelt::cli
