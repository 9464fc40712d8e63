// Contents of the messages between pipeline stages. The stages agree at the start on the tensors that cross
// each boundary between parts of the model. Later messages contain only the elements of these tensors.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "runtime/engine/training/pipeline_schedule.h"
#include "runtime/engine/training/pipeline_stage.h"
#include "runtime/ranks/communicator.h"
#include "runtime/session/stage_memory.h"

namespace smelt {

/// Kind of a message. K is the number of a part of the model. Training sends `values` (outputs of forward.K)
/// and `gradients` (outputs of backward.K) as PipelineSchedule specifies. An evaluation sends the outputs of
/// evaluate.K as `evaluation`.
enum class StageMessage : uint8_t { values, gradients, evaluation };

class StageMessages {
 public:
  /// Exchanges the lists of tensors: the receiver of each kind of message sends the sender the list of
  /// tensors that it reads. All stages create their objects together. `group` has the ranks along the axis of
  /// stages. Throws Error, which names both stages, if the sender does not make one of these tensors, or
  /// makes it with another type or shape.
  StageMessages(const Plan& plan, const PipelineStage& stage, Communicator& group);

  /// Returns the tensors, in order, of the message of this kind that crosses the boundary between parts
  /// `part` - 1 and `part`, as ports of this stage's entries. Requires: one of the two parts is on this
  /// stage.
  const std::vector<Port>& across(StageMessage what, int64_t part) const;
  /// Returns one list per boundary and kind of message that stage `from` sends to stage `to`: the bytes of
  /// each tensor of the message, at the symbols' bounds. The result is empty if this stage is neither of the
  /// two.
  std::vector<std::vector<int64_t>> bytes_between(const Plan& plan, int64_t from, int64_t to) const;

 private:
  using Boundary = std::pair<int64_t, StageMessage>;  // the part after the boundary, and the kind
  void make_lists(const Plan& plan);
  /// Receives the list of the tensors that the other stage reads, and keeps only these in made_.
  void agree(const Boundary& boundary, Communicator& group);
  std::vector<Port> made_for(const Plan& plan, const Boundary& boundary) const;
  std::vector<Port> read_from(const Plan& plan, const Boundary& boundary) const;

  PipelineStage stage_;
  std::map<Boundary, std::vector<Port>> made_, read_;  // tensors that this stage sends, and that it receives
};

/// Returns the pairs of stages (sender, receiver) that have messages, each pair once, in increasing order.
std::vector<std::pair<int64_t, int64_t>> message_links(const PipelineStage& stage);

}  // namespace smelt
