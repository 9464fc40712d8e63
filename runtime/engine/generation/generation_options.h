// Options of text generation: Hugging Face's options by their names, with their defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace smelt {

/// The distribution that a token is drawn from, given the scores.
struct SamplingOptions {
  bool do_sample = false;
  double temperature = 1;  // 0 = greedy
  int64_t top_k = 50;      // the k best, and all that score as the last of them; 0 = all
  double top_p = 1;        // the shortest list of the best that holds this probability
  double min_p = 0;        // those at least so probable, relative to the first

  bool greedy() const { return !do_sample || temperature == 0; }
  /// Throws Error naming the option, its value and its range.
  void validate() const;
};

/// End of a beam search: `yes` with num_beams sequences that have ended; `no` when the best running beam, at
/// its present length, is worse than the worst of them; `never` when it could not become better at any length
/// up to the longest.
enum class EarlyStopping : uint8_t { no, yes, never };

/// Divisor of a sequence's log-probability, where n is its number of new tokens (including the end token) and
/// a the length penalty: n^a, ((5 + n) / 6)^a (GNMT, arXiv 1609.08144; LightSeq), or 1 for every a (fairseq
/// with unnormalized scores). fairseq's normalized scores are those of `power`: n includes the end token, and
/// not the decoder's start token.
enum class LengthScore : uint8_t { power, gnmt, none };

/// A bias that is added to the score of the last token after each occurrence of the others.
struct SequenceBias {
  std::vector<int32_t> tokens;
  double bias = 0;
};

constexpr int64_t kMostBeams = 64, kMostSequences = 65536;

struct GenerationOptions : SamplingOptions {
  int64_t max_new_tokens = 20;
  std::optional<int64_t> max_length;  // in place of max_new_tokens: the prompt of the decoder and new tokens
  int64_t min_new_tokens = 0;
  int64_t min_length = 0;             // prompt and new tokens together, where min_new_tokens says nothing
  std::vector<int32_t> eos_token_id;  // any of them ends a sequence
  uint32_t seed = 0;
  int32_t decoder_start_token_id = 0;          // what a decoder that reads an encoder begins with
  std::optional<int32_t> forced_bos_token_id;  // the first new token of a sequence that has only one so far
  std::vector<int32_t> forced_eos_token_id;    // one of them is the last of max_new_tokens; empty: any may be
  /// When a sequence outgrows the plan's length, continues from its last tokens only. Without this it is an
  /// Error.
  bool sliding_window = false;

  // Scores, in the order in which they are changed (logits_processors.h).
  std::vector<SequenceBias> sequence_bias;
  double encoder_repetition_penalty = 1;  // of tokens that the source, or the prompt, does not have
  double repetition_penalty = 1;
  int64_t no_repeat_ngram_size = 0;
  int64_t encoder_no_repeat_ngram_size = 0;
  std::vector<std::vector<int32_t>> bad_words_ids;
  bool remove_invalid_values = false;
  /// After `first` new tokens the score s of an end token grows by |s| (second^(tokens beyond) - 1).
  std::optional<std::pair<int64_t, double>> exponential_decay_length_penalty;
  std::vector<int32_t> suppress_tokens, begin_suppress_tokens;

  int64_t num_beams = 1;
  int64_t num_return_sequences = 1;
  double length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::no;
  LengthScore length_score = LengthScore::power;
  /// Diverse beam search (arXiv 1610.02424), as in transformers 4: `num_beam_groups` groups of num_beams /
  /// num_beam_groups beams search independently, one after the other at each step. A token loses
  /// diversity_penalty for each beam of earlier groups that has chosen it in this step. 1: one group.
  int64_t num_beam_groups = 1;
  double diversity_penalty = 0;
  std::optional<int32_t>
      pad_token_id;  // what a group that has ended counts as choosing; the first end if none
  /// LightSeq's diverse beams: a beam's candidate of rank r, 0 for its best, loses r * diverse_lambda.
  double diverse_lambda = 0;

  /// Resets the options of searches with several beams and results, so that one sequence is generated.
  void want_one_sequence();
  bool ends(int32_t token) const;
  /// Returns the most tokens that may follow a prompt of the decoder; below 1 if max_length leaves no room.
  int64_t new_tokens(size_t prompt_length) const {
    return max_length ? *max_length - static_cast<int64_t>(prompt_length) : max_new_tokens;
  }
  std::optional<int32_t> padding() const;
  /// Throws Error naming the option, its value and its range.
  void validate() const;
  /// Does the same, and checks that ids are tokens of this vocabulary.
  void validate(int64_t vocabulary) const;
};

/// Returns the options of a model's own description (Plan::model): its generation_config.json or, without
/// one, the same fields of its config.json, and special tokens that these do not name. End tokens outside the
/// model's vocabulary, which some files name, are left out. An empty text gives the defaults.
GenerationOptions model_generation_options(std::string_view model);
/// Throws Error if a model writes no text from left to right, such as a masked language model.
void require_text_writer(std::string_view model);
/// Returns the fields of the model's generation_config.json that are unknown here.
std::vector<std::string> unknown_generation_fields(std::string_view model);
/// Reads a generation_config.json. Fields that would change the result and are not supported are named in one
/// Error; all other fields are in the table of harmless ones.
void read_generation_config(std::string_view json, GenerationOptions& options);
/// Reads the same fields of a config.json, among those of the model.
void read_model_config(std::string_view json, GenerationOptions& options);
/// Returns whether the fields of a generation config have this one.
bool is_generation_field(std::string_view name);
/// Reads the options of an application, with the members decoder_start_token_id, seed and sliding_window in
/// addition. Fields that are none of them are named in the Error.
void read_generation_options(std::string_view json, GenerationOptions& options);

}  // namespace smelt
