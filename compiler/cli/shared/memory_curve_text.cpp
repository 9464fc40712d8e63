#include "compiler/cli/shared/program_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/cli/shared/text_table.h"

namespace smelt::cli {

std::string curve_text(const Compilation& compilation, std::optional<int64_t> budget) {
  const std::vector<MemoryPoint>& curve = compilation.curve;
  if (curve.empty()) return {};
  TextTable table({"", "recompute", "memory", "arena", "kept", "% kept", "predicted ms", "x", "FLOP again"});
  const MemoryPoint& first = curve.front();
  bool taken = !budget;
  for (const MemoryPoint& point : curve) {
    const bool takes = !taken && point.bytes() - compilation.offload_bytes <= *budget;
    taken |= takes;
    table.add({takes ? ">" : "", point.policy.str(), bytes_text(point.bytes()), bytes_text(point.arena_bytes),
               count_text(point.kept_bytes),
               fmt::format("{:.1f}", 100.0 * static_cast<double>(point.kept_bytes) /
                                         static_cast<double>(std::max<int64_t>(first.kept_bytes, 1))),
               fmt::format("{:.3f}", point.seconds * 1e3),
               fmt::format("{:.3f}", point.seconds / first.seconds),
               fmt::format("{:.3g}", point.recomputed_flops)});
  }
  if (compilation.offload_bytes == 0) return table.text();
  return table.text() + fmt::format("{} of the optimizer's states go to the host's memory\n",
                                    bytes_text(compilation.offload_bytes));
}

}  // namespace smelt::cli
