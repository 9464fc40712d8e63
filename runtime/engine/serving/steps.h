// The steps of a continuous batch: each reads one more token of every row that may continue. If the plan
// samples all of their tokens, a step is started before the host has seen the tokens of the step before it,
// so that no device waits for the host between two steps.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "runtime/engine/serving/cache_rows.h"
#include "runtime/engine/serving/running_sequence.h"

namespace smelt {

class Steps {
 public:
  using Sequence = std::shared_ptr<RunningSequence>;

  /// `ahead`: steps that may be in progress when step() returns.
  Steps(CacheRows& rows, size_t ahead) : rows_(rows), ahead_(ahead) {}
  ~Steps();
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  /// Tokens of sequences, and how many of them the plan has chosen.
  struct Taken {
    size_t tokens = 0, by_plan = 0;
  };
  /// Starts one of the sequences that run, by row, and takes the tokens of those in front that are due.
  Taken step(std::span<const Sequence> running);
  /// A policy of generation/step_loop.h. A step is started for the rows that step() was given.
  int64_t start();
  int64_t under_way() const { return std::ssize(under_way_); }
  void take();
  /// Returns whether a step in progress writes to the sequence's part of the caches.
  bool has(const Sequence& sequence) const;
  /// Forgets the steps in progress, whose rows are all freed.
  void forget() { under_way_.clear(); }

 private:
  struct Row {
    Sequence sequence;
    size_t slot, place;  // where the token will be
  };
  struct Step {
    std::vector<Row> rows;
    std::span<const float> logits;  // of all rows, where the host chooses for some
  };
  bool start_step();
  RowStep read_by(RunningSequence& sequence, size_t row);
  void take_chosen(const Row& row);

  CacheRows& rows_;
  size_t ahead_;
  std::deque<Step> under_way_;
  std::span<const Sequence> running_;
  Taken taken_;
};

}  // namespace smelt
