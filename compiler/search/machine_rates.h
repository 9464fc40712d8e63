// Rates of computation and of collectives on a target, from which the search predicts times. They were
// measured on this machine by `smelt doctor --ranks`, or else are assumed for the target's architecture.
#pragma once

#include <filesystem>
#include <limits>
#include <string>

#include "ir/analysis/node_seconds.h"
#include "runtime/ranks/collective_rates.h"

namespace smelt {

/// The rates of a number of ranks that work at the same time.
struct MachineRates {
  Rates compute;                        // of each rank, while all ranks work
  CollectiveRates collectives{{}, {}};  // seconds of each kind of collective by bytes and ranks
  /// The share of its compute rates, 0 to 1, that a rank loses while a collective runs concurrently with its
  /// work, because a collective on a GPU uses multiprocessors and memory bandwidth.
  double beside_collectives = 0;
  /// `beside_copies`: the share that a rank loses while a gather or exchange of at least `copied_from` bytes
  /// runs. This share is smaller, because the GPU's copy engines run such a collective without the use of
  /// multiprocessors.
  double beside_copies = 0, copied_from = std::numeric_limits<double>::infinity();
  int64_t multiprocessors = 0;  // of a rank's GPU; 0: no GPU
  std::string source;           // a sentence for people: what was measured, or that the rates are assumed
};

/// Returns the rates of `ranks` ranks that work at the same time; ranks on a CPU share its cores. `device`:
/// number of the GPU, as in CompileOptions::device. `cache`: the cache directory, which has the measured
/// rates.
MachineRates machine_rates(const Target& target, int device, int64_t ranks,
                           const std::filesystem::path& cache);

}  // namespace smelt
