// Predicted rates of a target and its ranks: measured here by `smelt doctor --ranks`, or else assumed for the
// target's architecture.
#pragma once

#include <filesystem>
#include <limits>
#include <string>

#include "ir/analysis/node_seconds.h"
#include "runtime/ranks/collective_rates.h"

namespace smelt {

struct MachineRates {
  Rates compute;  // of each rank, while all are at work
  CollectiveRates collectives{{}, {}};
  /// The share of its rate that a rank loses while a collective runs concurrently with its work, because a
  /// collective on a GPU takes multiprocessors and bandwidth.
  double beside_collectives = 0;
  /// The same during gathers and exchanges of `copied_from` bytes or more, which copy engines of GPUs do.
  double beside_copies = 0, copied_from = std::numeric_limits<double>::infinity();
  int64_t multiprocessors = 0;  // of a rank's GPU; 0: it has none
  std::string source;           // a sentence for people: what was measured, or why it is assumed
};

/// `device`: as in CompileOptions. `ranks`: that work at once; those of a CPU share its cores.
MachineRates machine_rates(const Target& target, int device, int64_t ranks,
                           const std::filesystem::path& cache);

}  // namespace smelt
