// Schedules by measurement: every larger kernel of a program runs on this machine's GPU with each schedule
// worth a try, and the fastest whose results agree with the first one's is taken. Results are stored in the
// cache directory, by kernel, sizes and device.
#pragma once

#include <string>
#include <vector>

#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

struct TunedKernel {
  std::string name;
  int tried = 0;                          // 0: known from before
  Schedule schedule = {};                 // the one taken
  double first_seconds = 0, seconds = 0;  // a run, cold caches: by the default schedule, by the one taken
};

/// Changes the kernels' schedules. Throws Error where there is no GPU of the target's architecture.
std::vector<TunedKernel> tune_schedules(Program& program, const Target& target, int device = -1);

}  // namespace smelt
