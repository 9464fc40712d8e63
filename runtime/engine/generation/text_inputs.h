// Inputs per row and per request of entries that examine the text (@next_guided, @next_beams_guided).
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
  /// Requires: guided_choice_refuses (runtime/engine/generation/loop_choice.h) does not refuse the options.
  TextInputs(const Plan& plan, const GenerationOptions& options);
  /// Adds one row, of whose text the model reads `read` tokens.
  void add(const History& history, size_t read);
  /// Returns the inputs, which point into this object.
  std::vector<InputTensor> tensors() const;

 private:
  /// Phrases by their last tokens and those before them, the nearest first.
  struct Phrases {
    std::vector<int32_t> before, last;
    explicit Phrases(int64_t most);
    void set(size_t i, std::span<const int32_t> tokens);
  };
  void set_biases();
  void set_bans();
  void set_growth(size_t places);

  const GenerationOptions& options_;
  std::vector<int32_t> places_, integers_, biased_with_;
  std::vector<float> numbers_, growth_, biases_;
  Phrases biased_, banned_;
};

/// Sets the states of the rows' texts and of the request: biases of single tokens among them.
void set_text_states(Session& session, std::span<const History> rows, const GenerationOptions& options);

}  // namespace smelt
