// What the stages of a pipeline send each other: which tensors cross each boundary between parts, agreed on
// at the start, so that messages hold nothing but numbers.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "runtime/ranks/communicator.h"
#include "runtime/stage_memory.h"
#include "runtime/training/pipeline_schedule.h"
#include "runtime/training/pipeline_stage.h"

namespace smelt {

/// What a message is about: of training PipelineSchedule's, of an evaluation the values alone.
enum class StageMessage : uint8_t { values, gradients, evaluation };

class StageMessages {
 public:
  /// All stages make it at once. `group` are the ranks along the axis of stages. A receiver says what it
  /// reads. Throws Error naming both stages where the sender does not make it, or with another type or shape.
  StageMessages(const Plan& plan, const PipelineStage& stage, Communicator& group);

  /// The tensors, in order, that cross the boundary in front of the part: ports of this stage's entries.
  const std::vector<Port>& across(StageMessage what, int64_t part) const;
  /// At the symbols' bounds, of the tensors of each message from one stage to the other: bytes. None where
  /// this stage is neither.
  std::vector<std::vector<int64_t>> bytes_between(const Plan& plan, int64_t from, int64_t to) const;

 private:
  using Boundary = std::pair<int64_t, StageMessage>;  // in front of which part
  void make_lists(const Plan& plan);
  void agree(const Boundary& boundary, Communicator& group);
  std::vector<Port> made_for(const Plan& plan, const Boundary& boundary) const;
  std::vector<Port> read_from(const Plan& plan, const Boundary& boundary) const;

  PipelineStage stage_;
  std::map<Boundary, std::vector<Port>> made_, read_;  // by this stage
};

/// Who sends to whom, in increasing order, each pair once.
std::vector<std::pair<int64_t, int64_t>> message_links(const PipelineStage& stage);

}  // namespace smelt
