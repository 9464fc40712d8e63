// Beam search of one request of a continuous batch (continuous_batch.h). The search has a row of the batch
// for each of its running sequences. All of them read one token per step, in the same steps as the rows of
// other requests. After a step, the search chooses the sequences that continue, and the caches of rows that
// continue another row are copied from it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/engine/generation/beam_groups.h"
#include "runtime/engine/serving/running_sequence.h"

namespace smelt {

class RunningBeams;

/// A row of a beam search: one of its running sequences, or an idle row, which reads nothing. The first row
/// of a search represents its request: it reads the prompt, and reports the results.
class BeamRow : public RunningSequence {
 public:
  BeamRow(Request request, uint64_t number, std::shared_ptr<RunningBeams> beams, bool is_first)
      : RunningSequence(std::move(request), number), beams_(std::move(beams)), is_first_(is_first) {}

  using RunningSequence::take;
  size_t take(std::span<const float> logits) override;
  size_t take(const RowCandidates& found) override;
  bool takes_candidates() const override;
  RunningBeams* beams() override { return beams_.get(); }
  bool is_request() const override { return is_first_; }
  /// Makes the row the sequence `tokens`, of which the caches hold `held` tokens.
  void go_on(const std::vector<int32_t>& tokens, size_t held) { tokens_ = tokens, held_ = held; }
  /// Makes the row idle.
  void rest() { held_ = tokens_.size(); }
  /// Ends the request with these results, the best first.
  void end_found(std::vector<Progress> found);

 private:
  std::shared_ptr<RunningBeams> beams_;
  bool is_first_;
};

class RunningBeams : public std::enable_shared_from_this<RunningBeams> {
 public:
  explicit RunningBeams(const Request& request);
  /// Creates the first row, which has the request. `number`: as for RunningSequence.
  std::shared_ptr<BeamRow> first_row(Request request, uint64_t number);

  /// Returns the rows that the search will have in addition to its present ones.
  size_t rows_to_come() const { return ended() ? 0 : first_->most_rows() - active_.size() - idle_.size(); }
  bool ended() const { return first_->ended(); }

  /// Takes the logits of the next token of a row. With those of the last row of a step, the search chooses
  /// the sequences that continue. An error ends the request as `failed`. Returns the number of tokens that
  /// were chosen.
  size_t take(const BeamRow& row, std::span<const float> logits);
  /// Does the same with the candidates of the row. Requires: takes_candidates().
  size_t take(const BeamRow& row, const RowCandidates& found);
  bool takes_candidates() const { return takes_candidates_; }
  /// Allows that the plan chooses the beams (planned_beams.h). The search then has one row object, and is
  /// continued by the following functions alone.
  void let_plan_choose() { plan_may_choose_ = true; }
  bool plan_may_choose() const { return plan_may_choose_; }
  /// Continues the search by one token with the continuations that the plan has found, of which it reads the
  /// best kept(). Ends the request if the search has ended. Returns the number of tokens that were chosen.
  size_t take(std::vector<Continuation> best);
  size_t kept() const { return search_.only().kept(); }
  /// Returns whether the search has chosen since the last call of go_on().
  bool has_chosen() const { return has_chosen_; }

  /// Row `to` continues row `from`, of which the caches hold `length` tokens. `begins`: row `to` has had no
  /// sequence before.
  struct Copy {
    const BeamRow *from, *to;
    size_t length;
    bool begins;
  };
  /// Lets the rows continue as the search has chosen, or ends the request if the search has ended. In the
  /// first call, `add_row` is called with each new row, which must get the next row of the batch. Appends the
  /// copies of caches that the next step needs to `copies`. None of them writes to a row that another one
  /// reads. Requires: has_chosen().
  template <typename AddRow>
  void go_on(const AddRow& add_row, std::vector<Copy>& copies) {
    has_chosen_ = false;
    if (search_.done()) return finish();
    while (rows_to_come() > 0) add_row(new_row());
    reorder(copies);
  }
  /// Ends the other rows if the first one has ended.
  void end_rows();

 private:
  std::shared_ptr<BeamRow> new_row();
  size_t index_of(const BeamRow& row) const;
  size_t count_taken();
  void choose();
  void choose_by_logits();
  std::vector<size_t> parents() const;
  std::vector<BeamRow*> leave_free(std::span<const size_t> parents);
  void reorder(std::vector<Copy>& copies);
  void finish();
  Progress result_of(const Hypothesis& found) const;

  BeamGroups search_;
  bool takes_candidates_, plan_may_choose_ = false;
  BeamRow* first_ = nullptr;               // the batch owns the rows
  std::vector<BeamRow*> active_, idle_;    // active_: by running sequence of the search
  std::vector<float> logits_;              // of active_, [rows, vocabulary]
  std::vector<RowCandidates> candidates_;  // of active_; empty if logits_ has the logits instead
  size_t taken_ = 0;                       // rows of active_ that these have
  std::vector<uint64_t> versions_;         // of the weights that computed each new token
  bool has_chosen_ = false;
};

}  // namespace smelt
