// Simulation of a pipeline's schedule: whether it can end, and the idle time of its stages.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engine/training/pipeline_schedule.h"

namespace smelt {

/// Seconds, or any other unit, that each part takes for a micro-batch.
struct PipelineTimes {
  std::vector<double> forward, backward;  // by part
  double message = 0;                     // from the end of the work to the begin of what needs it
};
/// Returns equal times of forward and backward, for all parts.
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

/// Simulates a schedule. Sends do not wait, because a waiting stage receives messages (communicator.h).
/// Throws Error that names stage, step and the expected step if a step does not belong to its stage, work is
/// missing or done twice, a backward precedes its forward, a needed message was not received, two stages have
/// different orders of messages, a ring is too small for the kept micro-batches, or stages wait for each
/// other. A ring has `rings[part]` places, micro-batch i in place i modulo that.
PipelineTiming simulate(const PipelineSchedule& schedule, const PipelineTimes& times,
                        const std::vector<int64_t>& rings);

}  // namespace smelt
