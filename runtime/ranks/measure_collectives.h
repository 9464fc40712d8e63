// Measurement of the time of each kind of collective between the ranks of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/ranks/collective_rates.h"

namespace smelt {

/// Function that runs a collective of `bytes` bytes and returns its seconds at this rank. collective_rates.h
/// defines the bytes of each kind of collective. All ranks of the group call it together. Requires: `bytes`
/// is a multiple of 8 times the number of ranks.
using CollectiveClock = std::function<double(CollectiveKind kind, int64_t bytes)>;

/// Returns a function that runs the collectives of `group` on host memory. Requires: `group` outlives it.
CollectiveClock clock_of(Communicator& group);

/// The sizes to measure, and the number of measurements of each.
struct MeasureCollectivesOptions {
  std::vector<int64_t> bytes;  // sizes, which are rounded up to a multiple of 8 times the number of ranks
  int repetitions = 9;         // timed runs per size, after one run that is not timed; their median is used
};
/// Return the sizes to measure: from 4 KiB to 16 MiB if the ranks are processes on CPUs, from 64 KiB to 256
/// MiB if they are GPUs.
MeasureCollectivesOptions sizes_for_processes();
MeasureCollectivesOptions sizes_for_gpus();

/// The measurements of one kind of collective, and the time model fitted to them (fit_line).
struct MeasuredCollective {
  CollectiveRates::Row row;
  std::vector<TimedSize> sizes;
};
/// Measures every kind of collective. The ranks of the run are divided into groups of `ranks` ranks, and
/// `clock` runs collectives of this rank's group. All ranks of the run call this function together, so all
/// groups work concurrently. `everyone` is the communicator of all ranks. The time of a size is that of the
/// slowest rank of the run, so all ranks get the same results.
std::vector<MeasuredCollective> measure_collectives(const CollectiveClock& clock, int64_t ranks,
                                                    Communicator& everyone,
                                                    const MeasureCollectivesOptions& options);

/// Returns the sizes that a mesh axis of the run may have: the divisors of `ranks` from 2 on, increasing.
std::vector<int64_t> axis_sizes(int64_t ranks);
/// Returns the maximum of `number` over all ranks. All ranks call it together.
double largest_of_ranks(double number, Communicator& everyone);

}  // namespace smelt
