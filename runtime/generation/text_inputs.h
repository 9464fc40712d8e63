// What entries whose choice looks at the text (@next_guided, @next_beams_guided) read of each row and of a
// request, by the names of frontend/build_transformer.h.
#pragma once

#include <span>
#include <vector>

#include "runtime/generation/logits_processors.h"
#include "runtime/plan/plan.h"
#include "runtime/session.h"
#include "runtime/tensor.h"

namespace smelt {

class TextInputs {
 public:
  /// The options are what guided_choice_refuses (runtime/generation/loop_choice.h) does not refuse.
  TextInputs(const Plan& plan, const GenerationOptions& options);
  /// One more row, of whose text the model reads so many tokens.
  void add(const History& history, size_t read);
  /// They point to what is here.
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
