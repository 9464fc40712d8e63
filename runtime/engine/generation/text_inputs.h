// Inputs and states of entries whose processing of scores depends on the text so far (@next_guided,
// @next_beams_guided).
#pragma once

#include <span>
#include <vector>

#include "runtime/base/tensor.h"
#include "runtime/engine/generation/logits_processors.h"
#include "runtime/plan/plan.h"
#include "runtime/session/session.h"

namespace smelt {

class TextInputs {
 public:
  /// Requires: guided_choice_refuses (runtime/engine/generation/loop_choice.h) returns an empty text for the
  /// options, and `options` outlives this object.
  TextInputs(const Plan& plan, const GenerationOptions& options);
  /// Adds one row. `read` is the number of its tokens that the model reads: those that are not padding.
  void add(const History& history, size_t read);
  /// Returns the inputs for all added rows. Their data are in this object.
  std::vector<InputTensor> tensors() const;

 private:
  /// Phrases: the last token of each, and the tokens before it, the nearest first, in rows of kPhraseTokens
  /// elements (decode_contract.h). -1 stands for no token.
  struct Phrases {
    std::vector<int32_t> before, last;
    explicit Phrases(int64_t most);
    void set(size_t i, std::span<const int32_t> tokens);
  };
  /// Set the phrases of sequence_bias, the phrases of bad_words_ids, and the growth of the scores of end
  /// tokens by exponential_decay_length_penalty, for 0 to places - 1 tokens after its start.
  void set_biases();
  void set_bans();
  void set_growth(size_t places);

  const GenerationOptions& options_;
  std::vector<int32_t> places_, integers_, biased_with_;
  std::vector<float> numbers_, growth_, biases_;
  Phrases biased_, banned_;
};

/// Sets the states that these entries read: the tokens and sources of the rows, the special tokens of the
/// options, and the biases of single tokens.
void set_text_states(Session& session, std::span<const History> rows, const GenerationOptions& options);

}  // namespace smelt
