// What entries that choose tokens by themselves read of each row, and how far the host may be behind them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/generation/generation_options.h"
#include "runtime/plan/plan.h"
#include "runtime/tensor.h"

namespace smelt {

/// A row and what its options mean for the places of its tokens.
struct LoopPlace {
  int64_t read = 0;           // tokens that the model reads so far
  int64_t prompt_length = 0;  // of the decoder, padding included
  int64_t fresh = 0;          // new tokens so far
  int64_t index = 0;          // of the sequence, for its random numbers
};

/// The inputs of @next and @next_beams that they share, one row after the other.
class LoopInputs {
 public:
  void add(const LoopPlace& row, const GenerationOptions& options);
  /// They point to what is here.
  std::vector<InputTensor> tensors() const;
  /// Of these, what alone @next_guided reads.
  std::vector<InputTensor> of_drawing() const;

 private:
  void hold_back(const LoopPlace& row, const GenerationOptions& options);
  void force(const LoopPlace& row, const GenerationOptions& options);
  InputTensor table(const char* name, DType dtype, const auto& values) const;

  std::vector<float> numbers_, penalty_;
  std::vector<int32_t> integers_, held_back_, held_back_until_, forced_, forced_at_;
};

/// Whether there are biases of single tokens, for which nothing has to be looked for in the text; and these.
bool has_biases(const GenerationOptions& options);
void add_biases(const GenerationOptions& options, std::span<float> scores);
/// Of these, what sequence_bias and bad_words_ids ask of single tokens.
void add_biases_of_tokens(const GenerationOptions& options, std::span<float> scores);
/// What a row that has these tokens has in kNextPenalty, whose others are left.
void add_penalties(const GenerationOptions& options, std::span<const int32_t> tokens,
                   std::span<float> penalties);

/// Of a state of the plan, at its bounds.
size_t state_extent(const Plan& plan, std::string_view state, size_t axis);

/// Runs that are started before the host has seen the results of the first of them: few of a device that
/// waits for nobody, one where the host does the work itself.
struct RunsAhead {
  int64_t most = 1, together = 1;
};
RunsAhead runs_ahead(std::string_view target);

}  // namespace smelt
