// Rows of pages whose tokens the plan samples, by the entries @next_pages and @begin_pages
// (decode_contract.def). Sampled tokens are written to a slot of the plan's states. A row that moves keeps
// its slot and its pages, so that runs that were started before the move remain valid.
#pragma once

#include "runtime/engine/generation/chosen_tokens.h"
#include "runtime/engine/serving/page_rows.h"

namespace smelt {

class ChoosingRows : public PageRows {
 public:
  /// Returns the reason why @next_pages does not support the request, so that the host must sample; empty if
  /// it does.
  static std::string refuses(const Request& request);

  ChoosingRows(Session& session, const DecodeInterface& decode, bool shares_prefixes);

  ChoosingRows* choosing() override { return this; }
  void move(size_t from, size_t to, size_t length) override;
  void forget() override;
  /// Does the same as PageRows::run, and samples the next token of each step that has a request.
  std::span<const float> run(std::span<const RowStep> steps) override;

  /// Sets the biases and penalties of a row, before the first run that samples a token for it. `tokens` are
  /// the tokens of the row up to now.
  void begin_choice(size_t row, std::span<const int32_t> tokens, const GenerationOptions& options);
  /// Starts a run without waiting for it. Requires: all steps have a request.
  void start(std::span<const RowStep> steps);
  /// Returns the slot that holds the tokens of a row, which is the same after the row moves.
  size_t slot(size_t row) const { return slots_[row]; }
  /// Waits for the token that a started run samples for position `place` of the text in a slot. Returns the
  /// token and removes it. Throws Error (numeric) if no token could be chosen.
  ChosenTokens::Token take(size_t slot, size_t place);
  /// Removes the token that a finished run has written for a row for which the host samples.
  void pass_over(size_t slot, size_t place) { chosen_.forget(slot, place); }
  /// Waits for all started runs, and ignores their errors.
  void finish();

 private:
  struct ChoiceInputs;
  ChoiceInputs choice_inputs(std::span<const RowStep> steps);

  ChosenTokens chosen_;
  std::vector<size_t> slots_;  // by row
  std::vector<bool> plain_;    // by slot: its biases and penalties in the states have no effect
  std::vector<float> bias_, penalties_;
};

}  // namespace smelt
