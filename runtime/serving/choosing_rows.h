// Rows of pages whose tokens the plan chooses: @next_pages and @begin_pages of frontend/build_transformer.h.
// A row that moves keeps its slot in the states of runtime/generation/token_states.h, as it keeps its pages,
// so that runs which were started before it moved go on.
#pragma once

#include "runtime/generation/chosen_tokens.h"
#include "runtime/serving/page_rows.h"

namespace smelt {

class ChoosingRows : public PageRows {
 public:
  static bool has_entries(const Session& session);
  /// Why the entry does not give all that the request asks for, so that the host chooses; empty where it
  /// does.
  static std::string refuses(const Request& request);

  ChoosingRows(Session& session, bool shares_prefixes);

  ChoosingRows* choosing() override { return this; }
  void move(size_t from, size_t to, size_t length) override;
  void forget() override;
  /// Also chooses the next tokens of rows that have a request.
  std::span<const float> run(std::span<const RowStep> steps) override;

  /// Before the first run that chooses a token of the row, which has these tokens so far.
  void begin_choice(size_t row, std::span<const int32_t> tokens, const GenerationOptions& options);
  /// As run, but returns while that is under way.
  void start(std::span<const RowStep> steps);
  /// Where the tokens of a row are left, wherever it moves.
  size_t slot(size_t row) const { return slots_[row]; }
  /// What the run that was started has chosen, as soon as it is there. Each is taken once. Throws Error
  /// (numeric) where no token could be chosen.
  ChosenTokens::Token take(size_t slot, size_t place);
  /// Of a row that the host chooses for, whose run has ended.
  void pass_over(size_t slot, size_t place) { chosen_.forget(slot, place); }
  /// Waits for all that was started, whatever becomes of it.
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
