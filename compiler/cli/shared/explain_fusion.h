// --explain-fusion as text: kernels that differ only in their layer are described once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "passes/graph/fusion/fusion_report.h"

namespace smelt::cli {

/// Returns a paragraph for each kind of kernel: its number, its operations, the bytes it reads and writes,
/// and the reason why each unfused neighbour stayed apart. `filter` keeps kernels whose sources contain it.
std::string explain_fusion(const FusionReport& report, std::string_view filter);

/// Returns a line, with the reason, for each composite that was decomposed although kernels for some exist.
std::string refusals_text(const FusionReport& report, std::string_view filter);

/// Each distinct line once, preceded by how often it occurs.
std::string counted_lines(const std::vector<std::string>& lines);

/// "h.*.ln_1" of "h.3.ln_1", wherever a number is a part of a name by itself.
std::string without_layers(std::string_view source);

}  // namespace smelt::cli
