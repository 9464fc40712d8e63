// Inputs and states of the entries @next_guided and @next_beams_guided. These entries change the scores of
// tokens by rules that depend on the text so far.
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
  /// A list of phrases. `last` has the last token of each phrase. `before` has the tokens before it, from
  /// right to left, in one row of kPhraseTokens elements per phrase (decode_contract.h). -1 stands for no
  /// token.
  struct Phrases {
    std::vector<int32_t> before, last;
    explicit Phrases(int64_t most);
    void set(size_t i, std::span<const int32_t> tokens);
  };
  /// set_biases sets the phrases of sequence_bias, and set_bans those of bad_words_ids. set_growth sets the
  /// `places` factors of exponential_decay_length_penalty. Element i is for a text that is i tokens longer
  /// than the start index of the penalty.
  void set_biases();
  void set_bans();
  void set_growth(size_t places);

  const GenerationOptions& options_;
  std::vector<int32_t> places_, integers_, biased_with_;
  std::vector<float> numbers_, growth_, biases_;
  Phrases biased_, banned_;
};

/// Sets the states that these entries read: the tokens of the rows, the tokens of their sources (the
/// encoder's inputs), the special tokens of the options, and the biases of single tokens.
void set_text_states(Session& session, std::span<const History> rows, const GenerationOptions& options);

}  // namespace smelt
