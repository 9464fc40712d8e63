// Rows of pages whose tokens the plan samples: @next_pages and @begin_pages. A row that moves
// keeps its slot in the states, as it keeps its pages, so that runs that were started before the move remain
// valid.
#pragma once

#include "runtime/engine/generation/chosen_tokens.h"
#include "runtime/engine/serving/page_rows.h"

namespace smelt {

class ChoosingRows : public PageRows {
 public:
  /// Returns why the entry does not support the request, so that the host samples; empty if it does.
  static std::string refuses(const Request& request);

  ChoosingRows(Session& session, const DecodeInterface& decode, bool shares_prefixes);

  ChoosingRows* choosing() override { return this; }
  void move(size_t from, size_t to, size_t length) override;
  void forget() override;
  /// Also chooses the next tokens of rows that have a request.
  std::span<const float> run(std::span<const RowStep> steps) override;

  /// Prepares the first run that samples a token of the row, which has these tokens so far.
  void begin_choice(size_t row, std::span<const int32_t> tokens, const GenerationOptions& options);
  /// Starts a run, and returns while it is in progress.
  void start(std::span<const RowStep> steps);
  /// Returns the slot that holds the tokens of a row, which is the same after the row moves.
  size_t slot(size_t row) const { return slots_[row]; }
  /// Waits for the token that the started run samples, and returns it; each is taken once. Throws Error
  /// (numeric) if no token could be chosen.
  ChosenTokens::Token take(size_t slot, size_t place);
  /// Discards the token of a row that the host samples for, whose run has ended.
  void pass_over(size_t slot, size_t place) { chosen_.forget(slot, place); }
  /// Waits for all started runs, and ignores their faults.
  void finish();

 private:
  struct ChoiceInputs;
  ChoiceInputs choice_inputs(std::span<const RowStep> steps);

  ChosenTokens chosen_;
  std::vector<size_t> slots_;  // by row
  std::vector<bool> plain_;    // by slot: it has no biases, and penalties that are none
  std::vector<float> bias_, penalties_;
};

}  // namespace smelt
