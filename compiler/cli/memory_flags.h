// Options that trade the memory of training for time, and the table of what there is to choose from.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "compiler/compile.h"

namespace smelt::cli {

struct MemoryFlags {
  std::string budget, recompute, offload, offload_bucket;

  /// Adds --memory-budget, --recompute and --offload-optimizer.
  void add_to(CLI::App& app);
  void apply(CompileOptions& options) const;

 private:
  void apply_offload(CompileOptions& options) const;
};

/// "all", "none", a share as "50%", or bytes as parse_bytes takes them.
OffloadStatesOptions parse_offload(std::string_view text);

/// "12GiB", "500MiB", "1.5 GB" (powers of ten), "1073741824". Throws Error with what was expected.
int64_t parse_bytes(std::string_view text);

/// Every policy: its memory, what is kept and its share of the first one's, predicted time, FLOP computed
/// again;
/// `>` marks the one that a budget takes. Empty for no points.
std::string curve_text(const Compilation& compilation, std::optional<int64_t> budget);

}  // namespace smelt::cli
