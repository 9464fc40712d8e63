// Readable texts about a program and its compilation, for `smelt dump`, `smelt train` and others.
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
// Texts about work for which a plan has several variants, such as different kernels. The first run measures
// them and chooses the fastest.

/// Returns the name of the variant that a step belongs to, such as " [wgmma]"; empty for a step of work that
/// has only one variant.
std::string alternative_text(const PlanEntry& entry, const Step& step);

/// Returns one line with the names of the variants for each kind of work that has several; empty if none has.
/// The same work in several layers of a model is one kind.
std::string choices_text(const Plan& plan);

/// Returns the variants that have been chosen, by kind of work, such as
/// {"h.*.attention (forward)": "wgmma"}. If different variants were chosen for different sizes or layers,
/// their names are joined by " | ".
std::map<std::string, std::string> taken_alternatives(const std::vector<ChoiceTaken>& taken);

// ---- collective_summary.cpp
// The collectives of each entry of a program and their predicted cost: a part of dump --summary.

/// Returns a table of the collectives by kind and axis. For each entry it has the time of collectives that
/// overlaps with computation (hidden), and the time that does not overlap (exposed). The table also compares
/// planned memory and traffic with textbook formulas (compiler/search/rank_formulas.h). Returns an empty text
/// for a program of one rank.
std::string collectives_text(const Program& program, const MachineRates& rates);

// ---- explain_fusion.cpp
// --explain-fusion as text: kernels that differ only in their layer are described once.

/// Returns a paragraph for each kind of kernel: its number, its operations, the bytes that it reads and
/// writes, and the reason why each neighbour was not fused into it. `filter`: only kernels with a model
/// operation whose name contains it; empty: all.
std::string explain_fusion(const FusionReport& report, std::string_view filter);

/// Returns a line for each composite operation, such as attention, that was decomposed into primitives, with
/// the reason. Only operations of a kind for which the target has kernels are listed. `filter` is that of
/// explain_fusion.
std::string refusals_text(const FusionReport& report, std::string_view filter);

/// Returns each distinct line once. A line that occurs several times begins with the number of its
/// occurrences, such as "12 x ".
std::string counted_lines(const std::vector<std::string>& lines);

/// Replaces every part of a dotted name that is a number by "*": "h.3.ln_1" becomes "h.*.ln_1".
std::string without_layers(std::string_view source);

// ---- memory_curve_text.cpp
// The table of recomputation policies from which the compiler chooses one for a memory budget.

/// Returns a table with one row per recomputation policy. Columns: memory; bytes of activations that are
/// stored for backward, and their ratio to those of the first row; predicted time; FLOP that are computed
/// again. `>` marks the first policy whose memory on the device is at most `budget` bytes. States that move
/// to the host's memory because of the budget do not count as memory on the device. Empty if the compilation
/// has no policies.
std::string curve_text(const Compilation& compilation, std::optional<int64_t> budget);

// ---- step_text.cpp
// Names of a program's steps in tables.

/// Returns a name such as "k0_reduce5x2", "gemm 2048x384x128" or "sort_index". Sizes are the symbols' bounds.
std::string step_name(const Program& program, const Step& step);
/// Returns the names of the model's operations that the step computes, separated by commas, shortened to
/// `width` characters.
std::string step_sources(const Step& step, size_t width);

// ---- summary_tables.cpp
// Tables of `smelt dump --summary` about the whole compilation.

/// Returns tables of the launches and bytes of every entry before and after fusion, and of the memory of each
/// entry by role. With a mesh, also returns a table of the part of each state that a rank stores.
std::string summary_tables(const Compilation& compilation);

}  // namespace smelt::cli
