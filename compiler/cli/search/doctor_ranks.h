// smelt doctor --ranks: how long the ranks of a run take for what they do together, and what each of them
// reaches while all are at work.
#pragma once

#include <string>

namespace smelt::cli {

/// As one of the ranks that this process's launch variables say. Rank 0 prints a table, and keeps the rates
/// where the cost model reads them (compiler/search/machine_rates.h). `target`: "cpu", "cuda", or "native":
/// the GPUs where there are any. Throws Error that says how to start ranks where this process was started
/// alone.
void measure_ranks(const std::string& target);

}  // namespace smelt::cli
