// Messages between pipeline stages. The stages agree at the start on the tensors that cross each boundary
// between parts of the model, so that later messages contain only the elements of tensors.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "runtime/engine/training/pipeline_schedule.h"
#include "runtime/engine/training/pipeline_stage.h"
#include "runtime/ranks/communicator.h"
#include "runtime/session/stage_memory.h"

namespace smelt {

/// Kind of a message. Training sends `values` and `gradients` as PipelineSchedule specifies. An evaluation
/// sends the values of its own entries, as `evaluation`.
enum class StageMessage : uint8_t { values, gradients, evaluation };

class StageMessages {
 public:
  /// All stages create it together. `group` are the ranks along the axis of stages. A receiver sends the list
  /// of tensors that it reads. Throws Error naming both stages if the sender does not make one of them, or
  /// makes it with another type or shape.
  StageMessages(const Plan& plan, const PipelineStage& stage, Communicator& group);

  /// Returns the tensors, in order, that cross the boundary before the part: ports of this stage's entries.
  const std::vector<Port>& across(StageMessage what, int64_t part) const;
  /// Returns for each message from one stage to the other the bytes of its tensors at the symbols' bounds;
  /// none if this stage is neither.
  std::vector<std::vector<int64_t>> bytes_between(const Plan& plan, int64_t from, int64_t to) const;

 private:
  using Boundary = std::pair<int64_t, StageMessage>;  // the part after the boundary, and the kind
  void make_lists(const Plan& plan);
  void agree(const Boundary& boundary, Communicator& group);
  std::vector<Port> made_for(const Plan& plan, const Boundary& boundary) const;
  std::vector<Port> read_from(const Plan& plan, const Boundary& boundary) const;

  PipelineStage stage_;
  std::map<Boundary, std::vector<Port>> made_, read_;  // by this stage
};

/// Returns the pairs (sender, receiver), in increasing order, each pair once.
std::vector<std::pair<int64_t, int64_t>> message_links(const PipelineStage& stage);

}  // namespace smelt
