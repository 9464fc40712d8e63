// In which order the stages of a pipeline work on the micro-batches of an update.
//
// A model is cut into parts, one behind the other; part k lies on stage k modulo the number of stages. Part k
// forward needs the values of part k - 1, and its backward the gradients of part k + 1 and what its own
// forward left. Three orders are made:
//   gpipe        all forwards, then all backwards (Huang et al., 2018, arXiv:1811.06965)
//   1f1b         one backward as soon as one can be: a stage keeps the values of as many micro-batches as
//                stages follow it, itself among them (Narayanan et al., 2019, "PipeDream")
//   interleaved  the same with several parts a stage, which makes the idle time shorter (Narayanan et al.,
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
/// The part at the other end of a message.
int64_t other_part(const PipelineStep& message);

struct PipelineSchedule {
  PipelineShape shape;
  std::vector<std::vector<PipelineStep>> stages;  // what each does, in order
};

/// With sends right behind the work that makes them, and receives in front of the work that needs them: of
/// two stages both have the same order of messages. Neighbouring parts on one stage send nothing. Throws
/// Error where a number is below 1, or several parts a stage are asked for in the order 1f1b.
PipelineSchedule make_schedule(PipelineOrder order, const PipelineShape& shape);

/// Of each part: of how many micro-batches it keeps what forward leaves for backward, at most.
std::vector<int64_t> most_kept(const PipelineSchedule& schedule);
/// Of each part: the least number of places, micro-batch i in place i modulo that number, of which none is
/// taken again before it is free. At least most_kept.
std::vector<int64_t> ring_sizes(const PipelineSchedule& schedule);

}  // namespace smelt
