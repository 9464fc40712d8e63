// Schedules of pipeline parallelism: the order in which pipeline stages process the micro-batches of an
// update.
//
// A model is divided into consecutive parts. Part k runs on stage k modulo the number of stages. The forward
// pass of part k needs the values of part k - 1. Its backward pass needs the gradients of part k + 1 and the
// results of its forward pass, which the stage keeps. There are three orders:
//   gpipe        all forwards, then all backwards (Huang et al., 2018, arXiv:1811.06965)
//   1f1b         each backward as early as possible, so that stage s of n keeps the results of at most n - s
//                micro-batches (Narayanan et al., 2019, "PipeDream")
//   interleaved  1f1b with several parts per stage, which reduces the idle time (Narayanan et al., 2021,
//                arXiv:2104.04473), for any number of micro-batches
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
  int64_t stages = 1, micro_batches = 1, parts_a_stage = 1;  // parts_a_stage: parts of the model per stage

  int64_t parts() const { return stages * parts_a_stage; }
  int64_t stage_of(int64_t part) const { return part % stages; }
};

enum class PipelineAction : uint8_t {
  forward,
  backward,
  send_values,        // results of the forward pass, to the stage of the next part
  receive_values,     // values from the stage of the part before
  send_gradients,     // results of the backward pass, to the stage of the part before
  receive_gradients,  // gradients from the stage of the next part
};
std::string_view name(PipelineAction action);

/// An action for one micro-batch. forward and backward compute the part `part` of the model. In a send,
/// `part` made the data; in a receive, `part` needs the data. The part at the other end is other_part(step).
struct PipelineStep {
  PipelineAction action = PipelineAction::forward;
  int64_t part = 0, micro_batch = 0;
  bool operator==(const PipelineStep&) const = default;
};
std::string str(const PipelineStep& step);  // "receive_values of part 1, micro-batch 3"
/// Returns the part at the other end of a send or a receive.
int64_t other_part(const PipelineStep& message);

struct PipelineSchedule {
  PipelineShape shape;
  std::vector<std::vector<PipelineStep>> stages;  // for each stage, its steps in order
};

/// Creates the schedule. A send directly follows the work that makes its data. A receive directly precedes
/// the work that needs its data. There is one exception: messages between two stages arrive in the order in
/// which they were sent, so earlier messages of the sender are received first. Adjacent parts on the same
/// stage send no messages. Throws Error if a number of the shape is below 1 or above 65536, or if `order` is
/// 1f1b and there are several parts per stage.
PipelineSchedule make_schedule(PipelineOrder order, const PipelineShape& shape);

/// Returns, for each part, the largest number of micro-batches whose forward results are kept at the same
/// time.
std::vector<int64_t> most_kept(const PipelineSchedule& schedule);
/// Returns, for each part, the number of slots of a ring buffer for forward results, in which the results of
/// micro-batch i are in slot i modulo the number of slots. It is the smallest number with which a slot is
/// always free when new results are stored in it.
std::vector<int64_t> ring_sizes(const PipelineSchedule& schedule);

}  // namespace smelt
