// Choice of schedules by measurement. Each kernel that accesses 256 KiB to 4 GiB runs on this machine's GPU
// with several candidate schedules. The fastest schedule whose results agree with those of the default
// schedule is chosen. Choices are stored in the cache directory, by kernel, sizes and device. Template
// kernels, and kernels that read indices from memory, are not tuned.
#pragma once

#include <string>
#include <vector>

#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// A kernel whose schedule was chosen by measurement.
struct TunedKernel {
  std::string name;
  int tried = 0;           // number of measured schedules; 0: the choice is from the cache directory
  Schedule schedule = {};  // the chosen schedule
  /// Seconds per run with the default schedule, and with the chosen schedule; 0: the kernel was not run.
  double first_seconds = 0, seconds = 0;
};

/// Changes the kernels' schedules, and returns the kernels that were tuned. `device`: the number of a GPU of
/// this machine; -1: the default device (kDefaultDevice). Throws Error if this GPU does not have the
/// target's compute capability.
std::vector<TunedKernel> tune_schedules(Program& program, const Target& target, int device = -1);

}  // namespace smelt
