// Order in which the stages of a pipeline work on the micro-batches of an update.
//
// A model is cut into consecutive parts; part k runs on stage k modulo the number of stages. Part k forward
// needs the values of part k - 1, and its backward the gradients of part k + 1 and the results of its own
// forward. Three orders are made:
//   gpipe        all forwards, then all backwards (Huang et al., 2018, arXiv:1811.06965)
//   1f1b         each backward as early as possible: a stage keeps the values of as many micro-batches as
//                stages follow it, itself included (Narayanan et al., 2019, "PipeDream")
//   interleaved  1f1b with several parts per stage, which makes the idle time shorter (Narayanan et al.,
//                2021, arXiv:2104.04473); any number of micro-batches
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

enum class PipelineOrder : uint8_t { gpipe, one_f_one_b, interleaved };
std::string_view name(PipelineOrder order);  // "gpipe", "1f1b", "interleaved"
std::optional<PipelineOrder> parse_pipeline_order(std::string_view name);

struct PipelineShape {
  int64_t stages = 1, micro_batches = 1, parts_a_stage = 1;

  int64_t parts() const { return stages * parts_a_stage; }
  int64_t stage_of(int64_t part) const { return part % stages; }
};

enum class PipelineAction : uint8_t {
  forward,
  backward,
  send_values,        // of its forward, to the stage of the next part
  receive_values,     // of the part before it
  send_gradients,     // of its backward, to the stage of the part before it
  receive_gradients,  // of the next part
};
std::string_view name(PipelineAction action);

/// `part` is always one of the stage that does it.
struct PipelineStep {
  PipelineAction action = PipelineAction::forward;
  int64_t part = 0, micro_batch = 0;
  bool operator==(const PipelineStep&) const = default;
};
std::string str(const PipelineStep& step);  // "receive_values of part 1, micro-batch 3"
/// Returns the part at the other end of a message.
int64_t other_part(const PipelineStep& message);

struct PipelineSchedule {
  PipelineShape shape;
  std::vector<std::vector<PipelineStep>> stages;  // what each does, in order
};

/// Creates the schedule. Sends follow directly after the work that makes their data, and receives precede
/// directly the work that needs them, so both of two stages have the same order of messages. Neighbouring
/// parts on one stage send no messages. Throws Error if a number is below 1, or if 1f1b is asked for with
/// several parts per stage.
PipelineSchedule make_schedule(PipelineOrder order, const PipelineShape& shape);

/// Returns for each part the most micro-batches whose forward results it keeps for backward at once.
std::vector<int64_t> most_kept(const PipelineSchedule& schedule);
/// Returns for each part the least number of places such that micro-batch i in place i modulo that number
/// never takes a place before it is free. At least most_kept.
std::vector<int64_t> ring_sizes(const PipelineSchedule& schedule);

}  // namespace smelt
