// --explain-fusion as text: kernels that differ only in their layer are described once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "passes/fusion/fusion_report.h"

namespace smelt::cli {

/// A paragraph for each kind of kernel: how many there are, what is in them, the bytes they read and write,
/// and for each neighbour that stayed apart why. `filter` keeps kernels whose sources contain it.
std::string explain_fusion(const FusionReport& report, std::string_view filter);

/// A line for each composite that was taken apart though kernels for some exist, and why.
std::string refusals_text(const FusionReport& report, std::string_view filter);

/// Each distinct line once, preceded by how often it occurs.
std::string counted_lines(const std::vector<std::string>& lines);

/// "h.*.ln_1" of "h.3.ln_1", wherever a number is a part of a name by itself.
std::string without_layers(std::string_view source);

}  // namespace smelt::cli
