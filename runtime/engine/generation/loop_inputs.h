// Inputs and states of the entries of a plan that sample tokens (@next and @next_beams in
// decode_contract.def). Runs of these entries need no results of earlier runs from the host, so the host may
// start several runs in advance; RunsAhead is the limit.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/tensor.h"
#include "runtime/engine/generation/generation_options.h"
#include "runtime/plan/decode_contract.h"
#include "runtime/session/session.h"

namespace smelt {

/// Lengths of a row, in tokens, on which options such as min_length depend, and the index of its sequence.
struct LoopPlace {
  int64_t read = 0;           // tokens of the row up to now, without padding
  int64_t prompt_length = 0;  // tokens of the decoder's prompt, with padding
  int64_t fresh = 0;          // new tokens up to now
  int64_t index = 0;          // index of the sequence, which selects its random numbers
};

/// Inputs that both @next and @next_beams have: settings for the random draw of a token, a repetition
/// penalty, and tokens that are forbidden or forced at some positions.
class LoopInputs {
 public:
  /// Adds a row.
  void add(const LoopPlace& row, const GenerationOptions& options);
  /// Returns the inputs for all added rows. Their data are in this object.
  std::vector<InputTensor> tensors() const;
  /// Returns only the settings for the random draw, which are inputs of @next_guided.
  std::vector<InputTensor> of_drawing() const;

 private:
  /// Adds the tokens that are forbidden before some position of the row, such as end tokens.
  void hold_back(const LoopPlace& row, const GenerationOptions& options);
  /// Adds the tokens that are forced at a position of the row.
  void force(const LoopPlace& row, const GenerationOptions& options);
  /// Returns `values` as an input. Requires: `values` has the same number of elements for each row.
  InputTensor table(const DecodePort& port, const auto& values) const;

  std::vector<float> numbers_, penalty_;
  std::vector<int32_t> integers_, held_back_, held_back_until_, forced_, forced_at_;
};

/// Returns the bytes of a state as elements of type T.
template <typename T>
std::span<T> numbers(std::span<std::byte> state) {
  return {reinterpret_cast<T*>(state.data()), state.size() / sizeof(T)};
}

/// Returns whether the options have biases: changes of the scores of single tokens that do not depend on the
/// text. They are specified by sequence_bias, bad_words_ids, suppress_tokens and allowed_token_ids.
bool has_biases(const GenerationOptions& options);
/// Adds the biases to `scores`, [vocabulary]. The bias of a forbidden token is -infinity.
void add_biases(const GenerationOptions& options, std::span<float> scores);
/// Returns the tokens that cannot be chosen at any position, because of suppress_tokens and
/// allowed_token_ids.
std::vector<int32_t> never_chosen(const GenerationOptions& options, size_t vocabulary);
/// Does the same as add_biases, but ignores the tokens of never_chosen.
void add_biases_of_tokens(const GenerationOptions& options, std::span<float> scores);
/// Sets the penalties of these tokens to repetition_penalty, unless that is 1. `penalties` is a row of
/// state::next_penalty, [vocabulary]; other elements are not changed.
void add_penalties(const GenerationOptions& options, std::span<const int32_t> tokens,
                   std::span<float> penalties);

/// Sets the states from which an entry continues rows. `rows` has the tokens of each row. The next token that
/// the entry reads is the last token of the row; the KV caches must have the tokens before it.
void set_positions(Session& session, std::span<const std::span<const int32_t>> rows);
/// Sets each of the first `rows` rows of state::next_bias to the biases of add_biases, and all other rows to
/// 0.
void set_biases(Session& session, size_t rows, const GenerationOptions& options);

/// Limits for starting runs before the host has the results of earlier ones. `most`: the largest number of
/// runs in progress. `together`: the smallest number of runs that are started at a time; it does not apply if
/// no run is in progress.
struct RunsAhead {
  int64_t most = 1, together = 1;
};
/// Returns the limits for a target (Plan::target). Several runs may be in progress on a device that works
/// asynchronously, and one if the host computes.
RunsAhead runs_ahead(std::string_view target);

}  // namespace smelt
