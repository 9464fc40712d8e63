// Simulation of a pipeline's schedule. It checks that the schedule is correct and does not deadlock, and
// computes the idle time of the stages.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engine/training/pipeline_schedule.h"

namespace smelt {

/// Times per micro-batch, in seconds or any other unit.
struct PipelineTimes {
  std::vector<double> forward, backward;  // by part of the model
  double message = 0;  // time from the end of the work that makes the data to the arrival of the message
};
/// Returns times of 1 for forward and backward of every part, and of 0 for messages.
PipelineTimes equal_times(const PipelineShape& shape);

/// One forward or backward, with its begin and end in the unit of PipelineTimes.
struct PipelineSpan {
  PipelineStep work;
  double begin = 0, end = 0;
};
struct PipelineTiming {
  double total = 0;                               // from 0 to the end of the last span
  double bubble = 0;                              // idle fraction of the time of all stages: 0 to 1
  std::vector<std::vector<PipelineSpan>> stages;  // by stage, in order of time
};

/// Simulates a schedule. Part p has a ring of `rings[p]` slots for the results of its forward, which its
/// backward needs. The results of micro-batch i are in slot i modulo rings[p]. Sends do not wait for the
/// receiver.
///
/// Throws Error, which names the stage and the step at fault, if
///   - a step does not belong to its stage, or its micro-batch does not exist,
///   - a forward or backward is missing, is done twice, or precedes the work or message that it needs,
///   - two stages have different orders of messages, or a message is not received,
///   - a forward needs a slot that still has the results of another micro-batch, or
///   - stages wait for each other.
/// Also throws Error if `times`, `rings` or the schedule have a wrong number of entries.
PipelineTiming simulate(const PipelineSchedule& schedule, const PipelineTimes& times,
                        const std::vector<int64_t>& rings);

}  // namespace smelt
