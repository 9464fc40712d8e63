#include "compiler/cli/shared/program_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/cli/shared/text_table.h"
#include "compiler/driver/summary.h"
#include "compiler/report/memory_peak.h"

namespace smelt::cli {
namespace {

constexpr size_t kMostGroups = 10;  // of what is in use at a peak
constexpr size_t kMostSource = 80;  // characters

std::string shortened(const std::string& text) {
  return text.size() <= kMostSource ? text : text.substr(0, kMostSource - 3) + "...";
}

std::string entries_table(const Compilation& compilation) {
  std::vector<std::string> heads = {"entry", "launches before", "after",      "bytes before",
                                    "after", "gemms",           "gemm bytes", "not gemm"};
  const bool has_ranks = !compilation.program.mesh.empty();
  if (has_ranks) heads.insert(heads.end(), {"collectives", "their bytes a rank"});
  TextTable table(heads);
  for (const EntrySummary& row : compilation.summary) {
    const double all = static_cast<double>(row.bytes_after + row.gemm_bytes);
    std::vector<std::string> cells = {
        row.entry,
        std::to_string(row.launches_before),
        std::to_string(row.launches_after),
        bytes_text(row.bytes_before),
        bytes_text(row.bytes_after),
        std::to_string(row.gemms),
        bytes_text(row.gemm_bytes),
        fmt::format("{:.0f}%", all > 0 ? 100 * static_cast<double>(row.bytes_after) / all : 0)};
    if (has_ranks)
      cells.insert(cells.end(), {std::to_string(row.collectives), bytes_text(row.collective_bytes)});
    table.add(cells);
  }
  return table.text();
}

std::string memory_table(const Compilation& compilation) {
  TextTable table({"entry", "role", "bytes"});
  for (const MemoryReport& report : compilation.memory) {
    for (const auto& [role, bytes] : report.by_role)
      if (bytes > 0) table.add({report.entry, std::string(name(role)), count_text(bytes)});
    table.add({report.entry, "arena", count_text(report.arena)});
    table.add({report.entry, "arena without reuse", count_text(report.without_reuse)});
    table.add({report.entry, "arena at least", count_text(report.lower_bound)});
  }
  return table.text();
}

/// The moment of the peak: of which step, and what that step is of.
std::string peak_line(const Program& program, const PlanEntry& entry, const MemoryPeak& peak) {
  const Step& step = entry.steps[static_cast<size_t>(peak.step)];
  std::string line =
      fmt::format("peak of {}: {} bytes in use at step {} of {}, {}", entry.name, count_text(peak.bytes),
                  peak.step, entry.steps.size(), step_name(program, step));
  if (!step.phase.empty()) line += fmt::format(", {}", step.phase);
  if (!step.sources.empty()) line += fmt::format(", of {}", step_sources(step, kMostSource));
  return line + "\n";
}

/// The largest groups of what is in use at the peak, then all others together.
std::string peak_table(const MemoryPeak& peak) {
  TextTable table({"role", "bytes", "buffers", "of"});
  for (size_t i = 0; i < std::min(peak.groups.size(), kMostGroups); ++i) {
    const PeakGroup& group = peak.groups[i];
    table.add({std::string(name(group.role)), count_text(group.bytes), count_text(group.buffers),
               shortened(group.source)});
  }
  int64_t bytes = 0, buffers = 0;
  for (size_t i = kMostGroups; i < peak.groups.size(); ++i)
    bytes += peak.groups[i].bytes, buffers += peak.groups[i].buffers;
  if (buffers > 0)
    table.add({"", count_text(bytes), count_text(buffers),
               fmt::format("({} others)", peak.groups.size() - kMostGroups)});
  return table.text();
}

std::string peaks_text(const Program& program) {
  std::string text;
  for (const PlanEntry& entry : program.entries) {
    const MemoryPeak peak = memory_peak(program.buffers, entry);
    if (peak.step >= 0) text += peak_line(program, entry, peak) + peak_table(peak) + "\n";
  }
  return text;
}

/// Returns the table of the states' bytes per rank, and of all ranks without copies.
std::string states_table(const Compilation& compilation) {
  if (compilation.program.mesh.empty()) return "";
  TextTable table({"state", "role", "a rank's", "bytes a rank", "bytes once"});
  int64_t bytes = 0, whole = 0;
  for (const StateSize& size : state_sizes(compilation.program)) {
    table.add({size.name, std::string(name(size.role)), size.type, count_text(size.bytes),
               count_text(size.whole_bytes)});
    bytes += size.bytes, whole += size.whole_bytes;
  }
  table.add({"all states", "", "", count_text(bytes), count_text(whole)});
  return table.text() + "\n";
}

/// Returns the table of the states in the host's memory, and of the copies that each entry makes of them.
std::string host_table(const Compilation& compilation) {
  TextTable states({"state", "role", "bytes on the device", "in the host's memory"});
  int64_t device = 0, host = 0;
  for (const StateSize& size : state_sizes(compilation.program)) {
    states.add({size.name, std::string(name(size.role)), count_text(size.bytes - size.host_bytes),
                count_text(size.host_bytes)});
    device += size.bytes - size.host_bytes, host += size.host_bytes;
  }
  if (host == 0) return "";
  states.add({"all states", "", count_text(device), count_text(host)});
  TextTable entries({"entry", "bytes from the host", "to the host"});
  for (const EntrySummary& row : compilation.summary)
    if (row.from_host + row.to_host > 0)
      entries.add({row.entry, count_text(row.from_host), count_text(row.to_host)});
  return states.text() + "\n" + entries.text() + "\n";
}

}  // namespace

std::string summary_tables(const Compilation& compilation) {
  return entries_table(compilation) + "\n" + memory_table(compilation) + "\n" +
         peaks_text(compilation.program) + states_table(compilation) + host_table(compilation);
}

}  // namespace smelt::cli
