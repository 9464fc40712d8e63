// smelt doctor --ranks: the times of the collectives of a run's ranks, and the rates that each rank reaches
// while all are at work.
#pragma once

#include <string>

namespace smelt::cli {

/// Measures the rates of ranks, as the rank that this process's launch variables give. Rank 0 prints a table,
/// and stores the rates where the cost model reads them (compiler/search/machine_rates.h). `target`: "cpu",
/// "cuda", or "native": the GPUs where there are any. Throws Error with the way to start ranks where this
/// process was started alone.
void measure_ranks(const std::string& target);

}  // namespace smelt::cli
