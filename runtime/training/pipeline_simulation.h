// A pipeline's schedule, run in thought: whether it can end at all, and how long its stages stand idle.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/training/pipeline_schedule.h"

namespace smelt {

/// Seconds, or any other unit, that each part takes for a micro-batch.
struct PipelineTimes {
  std::vector<double> forward, backward;  // by part
  double message = 0;                     // from the end of the work to the begin of what needs it
};
/// As long forward and backward, for all parts.
PipelineTimes equal_times(const PipelineShape& shape);

struct PipelineSpan {
  PipelineStep work;  // forward or backward
  double begin = 0, end = 0;
};
struct PipelineTiming {
  double total = 0;
  double bubble = 0;                              // idle time of all stages over their total time
  std::vector<std::vector<PipelineSpan>> stages;  // the work of each, in order
};

/// Sends do not wait: a stage that waits takes what others send to it (communicator.h). Throws Error that
/// names stage, step and what was expected instead, where a step does not belong to its stage, work is
/// missing or done twice, a backward stands before its forward, something needed was not received, two stages
/// have another order of messages, a ring is too small for what is kept, or stages wait for each other. A
/// ring has `rings[part]` places, micro-batch i in place i modulo that.
PipelineTiming simulate(const PipelineSchedule& schedule, const PipelineTimes& times,
                        const std::vector<int64_t>& rings);

}  // namespace smelt
