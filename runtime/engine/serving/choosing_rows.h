// Rows that are lists of pages (page_rows.h), for a plan that samples their tokens by the entries
// @begin_pages and @next_pages (decode_contract.def), or @mixed_pages (mixed_rows.h). Each row has a slot in
// the plan's states, to which its sampled tokens are written. A row whose number changes (move()) keeps its
// slot and its pages, so that runs that were started before the change remain valid.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "runtime/engine/generation/chosen_tokens.h"
#include "runtime/engine/generation/loop_inputs.h"
#include "runtime/engine/serving/candidate_outputs.h"
#include "runtime/engine/serving/page_rows.h"

namespace smelt {

class ChoosingRows : public PageRows {
 public:
  /// Returns the reason why the plan cannot sample for the request, so that the host must do this; empty if
  /// the plan can.
  std::string refuses(const Request& request) const;

  ChoosingRows(Session& session, const DecodeInterface& decode, bool shares_prefixes);

  ChoosingRows* choosing() override { return this; }
  /// Returns 0: a run reads one token of each row, because it stores only one sampled token per slot.
  size_t consecutive_steps() const override { return 0; }
  void move(std::span<const RowMove> moves) override;
  void forget() override;
  /// Does the same as PageRows::run, and samples the next token of each step that has a request. Steps with
  /// candidates are a run of their own, of the entry beam_pages.
  std::span<const float> run(std::span<const RowStep> steps) override;
  bool gives_candidates() const override { return has_beams_; }
  RowCandidates candidates(size_t index) const override { return candidates_.row(index); }

  /// Sets the biases and penalties of a row, before the first run that samples a token for it. `tokens` are
  /// the tokens of the row up to now.
  void begin_choice(size_t row, std::span<const int32_t> tokens, const GenerationOptions& options);
  /// Starts a run without waiting for it. Requires: the host samples for no step.
  void start(std::span<const RowStep> steps);
  /// A row whose sampling is Sampling::allowed: its slot, and the number of its tokens up to now.
  struct AllowedRow {
    size_t slot, place;
    const Request* request;
    std::span<const uint32_t> tokens;  // bit t % 32 of word t / 32 is 1 if token t may be sampled
  };
  /// Starts the run that samples for these rows, whose logits the last started run computes.
  void sample_allowed(std::span<const AllowedRow> rows);
  /// Returns the slot that holds the tokens of a row, which is the same after the row moves.
  size_t slot(size_t row) const { return slots_[row]; }
  /// Waits for the token that a started run samples for position `place` of the text in a slot. Returns the
  /// token and removes it. Throws Error (numeric) if no token could be chosen.
  ChosenTokens::Token take(size_t slot, size_t place);
  /// Removes the token that a finished run has written for a row for which the host samples.
  void pass_over(size_t slot, size_t place) { chosen_.forget(slot, place); }
  /// Waits for all started runs, and ignores their errors.
  void finish();

 protected:
  /// Inputs of one run.
  class RunInputs {
   public:
    std::vector<InputTensor> tensors;
    void add(const DecodePort& port, std::vector<int64_t> sizes, std::vector<int32_t> values);
    /// Adds the settings for sampling of one row.
    void add_settings(const Request& request);
    /// Settings for sampling of the rows.
    LoopInputs sampler;

   private:
    std::deque<std::vector<int32_t>> values_;  // memory of `tensors`
  };
  ChoosingRows(Session& session, const DecodeInterface& decode, bool shares_prefixes, const char* entry);
  /// Adds the inputs that specify the tokens that the run reads. Returns the number of its rows, which is at
  /// least the number of steps. Additional rows are padding.
  virtual size_t add_tokens(RunInputs& inputs, std::span<const RowStep> steps);
  /// Returns the slot to which the run writes the sampled token of a step; -1: nothing is sampled.
  virtual int32_t slot_of(const RowStep& step, std::span<const RowStep> /*steps of the run*/) const {
    return static_cast<int32_t>(slots_[step.row]);
  }
  /// Returns the entry that runs these steps.
  virtual const char* entry_for(std::span<const RowStep> /*steps*/) const { return entry_; }
  /// Returns all inputs of a run.
  RunInputs inputs_for(std::span<const RowStep> steps);

  const char* entry_;

 private:
  std::span<const float> run_others(std::span<const RowStep> steps);
  void run_beams(std::span<const RowStep> steps);

  ChosenTokens chosen_;
  std::vector<size_t> slots_;  // by row
  std::vector<bool> plain_;    // by slot: its biases and penalties in the states have no effect
  std::vector<float> bias_, penalties_;
  bool samples_allowed_;  // the plan has the entry sample_allowed
  bool has_beams_;        // the plan has the entry beam_pages
  CandidateOutputs candidates_;
};

}  // namespace smelt
