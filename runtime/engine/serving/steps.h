// Steps of a continuous batch (continuous_batch.h). A step runs the model on one more token of every row
// whose sequence may continue. If rows mix, the step also runs the model on parts of prompts. Rows mix if one
// run of the plan can read several tokens of some rows and one token of others (cache_rows.h). If the plan
// samples the tokens of all rows, a step is started before the host has read the tokens of the step before
// it, so that the device does not wait for the host between two steps.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "runtime/engine/serving/cache_rows.h"
#include "runtime/engine/serving/drafter.h"
#include "runtime/engine/serving/running_sequence.h"

namespace smelt {

class Steps {
 public:
  using Sequence = std::shared_ptr<RunningSequence>;

  /// `ahead` is the number of steps that may still be in progress when step() returns, if the plan samples
  /// the tokens of all rows. `chunk` is the most prompt tokens that a step reads if rows mix. If `drafts` has
  /// a drafter, rows must mix.
  Steps(CacheRows& rows, size_t ahead, size_t chunk, DraftSource drafts)
      : rows_(rows), ahead_(ahead), chunk_(chunk), drafts_(std::move(drafts)) {}
  ~Steps();
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  /// Counts of one call of step(). `tokens`: tokens that it has taken from steps. `by_plan`: those among them
  /// that the plan has sampled. `read`: prompt tokens in the step that it has started.
  /// `drafted`: tokens of drafts in that step. `kept`: tokens of drafts that are equal to the sampled tokens,
  /// and so stay in the text.
  struct Taken {
    size_t tokens = 0, by_plan = 0, read = 0, drafted = 0, kept = 0;
  };
  /// Starts a step for `running`, the sequence of each row. Then takes the tokens of the steps in progress,
  /// the earliest first, until at most `ahead` steps are in progress. If the host samples a token in the new
  /// step, takes the tokens of all steps. If no row may continue, starts no step and takes the tokens of one
  /// step. Returns the counts of the tokens taken.
  Taken step(std::span<const Sequence> running);
  /// Takes the tokens of all steps in progress, and starts none. Returns the counts of the tokens taken.
  Taken finish();
  /// Functions of a policy of the step loop (generation/step_loop.h), which step() runs: start a step, count
  /// the steps in progress, and take the tokens of the earliest one.
  int64_t start();
  int64_t under_way() const { return std::ssize(under_way_); }
  void take();
  /// Returns whether the sequence has a row in a step in progress. Such a step may still write to the row's
  /// caches.
  bool has(const Sequence& sequence) const;
  /// Drops the steps in progress without taking their tokens, after a failure of the whole batch.
  void forget() { under_way_.clear(); }

 private:
  struct Row {
    Sequence sequence;
    size_t slot, place;  // slot of the row's state and position in the text that get the sampled token
    Sampling sampling;
    int32_t last_read;  // the last token that the row reads
  };
  struct Step {
    std::vector<Row> rows;
    std::span<const float> logits;  // of the rows without candidates; empty if the host samples for none
    bool needs_host = false;        // the host chooses tokens before the next step
    bool needs_allowed = false;     // the sampling of rows with Sampling::allowed has not been started
  };
  bool start_step();
  std::span<const float> run(const std::vector<RowStep>& reads, const Step& step);
  std::vector<RowStep> next_reads();
  void add_prompts(std::vector<RowStep>& reads);
  size_t free_steps(const std::vector<RowStep>& reads) const;
  void add_scored_prompts(std::vector<RowStep>& reads);
  std::vector<DraftText> texts_to_draft(const std::vector<RowStep>& reads);
  void add_drafts(std::vector<RowStep>& reads);
  void add_draft(std::vector<RowStep>& reads, RowStep text, std::span<const int32_t> draft);
  bool wants_draft(const Sequence& sequence) const;
  void choose_drafted();
  bool awaits_tokens(const Sequence& sequence) const;
  static Sampling plan_sampling(const RunningSequence& sequence);
  void sample_allowed(Step& step);
  void complete_last();
  static Sampling host_sampling(const CacheRows& rows, const RunningSequence& sequence);
  void take_logits(const Row& row, std::span<const float> logits);
  void take_candidates(const Row& row, const RowCandidates& found);
  void end_drafts(const Step& step);
  RowStep next_token(RunningSequence& sequence, size_t row);
  /// Takes a token that the plan has sampled.
  void take_chosen(const Row& row);

  CacheRows& rows_;
  size_t ahead_, chunk_;
  DraftSource drafts_;
  std::deque<Step> under_way_;
  std::span<const Sequence> running_;
  std::set<const RunningSequence*> drafted_;  // those that get drafts now
  Taken taken_;
};

}  // namespace smelt
