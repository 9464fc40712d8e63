#include "compiler/cli/summary_tables.h"

#include <fmt/format.h>

#include "compiler/cli/text_table.h"
#include "compiler/summary.h"

namespace smelt::cli {
namespace {

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

/// What each rank keeps of the states, and all of them together once.
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

/// What the host holds of the states, and what each entry copies of it.
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
  return entries_table(compilation) + "\n" + memory_table(compilation) + "\n" + states_table(compilation) +
         host_table(compilation);
}

}  // namespace smelt::cli
