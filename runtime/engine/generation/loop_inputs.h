// Inputs per row of entries that sample tokens themselves, and the number of runs that the host may start
// ahead.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/tensor.h"
#include "runtime/engine/generation/generation_options.h"
#include "runtime/plan/decode_contract.h"
#include "runtime/session/session.h"

namespace smelt {

/// The lengths of a row that its options refer to, and the index of its sequence.
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
  /// Returns the inputs, which point into this object.
  std::vector<InputTensor> tensors() const;
  /// Returns those inputs that only @next_guided reads.
  std::vector<InputTensor> of_drawing() const;

 private:
  void hold_back(const LoopPlace& row, const GenerationOptions& options);
  void force(const LoopPlace& row, const GenerationOptions& options);
  InputTensor table(const DecodePort& port, const auto& values) const;

  std::vector<float> numbers_, penalty_;
  std::vector<int32_t> integers_, held_back_, held_back_until_, forced_, forced_at_;
};

template <typename T>
std::span<T> numbers(std::span<std::byte> state) {
  return {reinterpret_cast<T*>(state.data()), state.size() / sizeof(T)};
}

/// Returns whether there are biases of single tokens, which do not depend on the text; add_biases adds them.
bool has_biases(const GenerationOptions& options);
void add_biases(const GenerationOptions& options, std::span<float> scores);
/// Adds those biases that sequence_bias and bad_words_ids set for single tokens.
void add_biases_of_tokens(const GenerationOptions& options, std::span<float> scores);
/// Sets the elements of state::next_penalty for a row with these tokens; the others stay.
void add_penalties(const GenerationOptions& options, std::span<const int32_t> tokens,
                   std::span<float> penalties);

/// Sets the states from which an entry continues rows of these tokens: all but the last are in the caches.
void set_positions(Session& session, std::span<const std::span<const int32_t>> rows);
/// Sets the biases of all tokens, for that many rows.
void set_biases(Session& session, size_t rows, const GenerationOptions& options);

/// Number of runs that are started before the host has seen the results of the first: several on a device
/// that runs asynchronously, one if the host computes.
struct RunsAhead {
  int64_t most = 1, together = 1;
};
RunsAhead runs_ahead(std::string_view target);

}  // namespace smelt
