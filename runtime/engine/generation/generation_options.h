// Options of text generation, with the names, meanings and defaults of Hugging Face's GenerationConfig.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace smelt {

/// Options that turn scores into the distribution from which a token is drawn. The filters top_k, top_p and
/// min_p apply in this order.
struct SamplingOptions {
  bool do_sample = false;
  double temperature = 1;  // divisor of scores; 0: greedy
  int64_t top_k = 50;      // keeps the k best tokens, and tokens that tie with the last of them; 0: all
  double top_p = 1;        // keeps the smallest set of best tokens whose probabilities sum to at least top_p
  double min_p = 0;        // keeps tokens at least min_p times as probable as the best

  bool greedy() const { return !do_sample || temperature == 0; }
  /// Throws Error naming the option, its value and its range.
  void validate() const;
};

/// Condition for the end of a beam search. In all cases, num_beams sequences must be finished. `yes`: there
/// is no further condition. `no`: the score that the best running beam has at its present length is not
/// better than that of the worst finished sequence. `never`: the best running beam cannot become better than
/// the worst finished sequence at any length that it may reach.
enum class EarlyStopping : uint8_t { no, yes, never };

/// The score of a sequence is its log-probability, divided by one of these numbers. n is the number of its
/// new tokens, including the end token, and p is the length_penalty. `power`: n^p, as in fairseq's normalized
/// score. `gnmt`: ((5 + n) / 6)^p (GNMT, arXiv 1609.08144; LightSeq). `none`: 1, as in fairseq's unnormalized
/// score.
enum class LengthScore : uint8_t { power, gnmt, none };

/// A bias for a sequence of tokens. If the text ends with all of `tokens` except the last, the bias is added
/// to the score of the last.
struct SequenceBias {
  std::vector<int32_t> tokens;
  double bias = 0;
  bool operator==(const SequenceBias&) const = default;
};

/// Upper bounds of num_beams and num_return_sequences.
constexpr int64_t kMostBeams = 64, kMostSequences = 65536;
/// Upper bound of the absolute values of presence_penalty and frequency_penalty.
constexpr double kMostTokenPenalty = 2;

struct GenerationOptions : SamplingOptions {
  int64_t max_new_tokens = 20;
  /// Limit of the decoder's prompt and new tokens together; replaces max_new_tokens.
  std::optional<int64_t> max_length;
  int64_t min_new_tokens = 0;
  int64_t min_length = 0;             // of prompt and new tokens together; ignored if min_new_tokens is set
  std::vector<int32_t> eos_token_id;  // end tokens: each of them ends a sequence
  uint32_t seed = 0;
  int32_t decoder_start_token_id = 0;          // prompt of the decoder if the model has an encoder
  std::optional<int32_t> forced_bos_token_id;  // first new token if the decoder's prompt is a single token
  /// If not empty, new token number max_new_tokens must be one of these.
  std::vector<int32_t> forced_eos_token_id;
  /// For a prompt and new tokens that together are longer than the plan supports. True: the model reads only
  /// the last tokens of the sequence. False: such a request is an Error.
  bool sliding_window = false;

  // Options that change scores, in the order in which they are applied (logits_processors.h).
  std::vector<SequenceBias> sequence_bias;
  double encoder_repetition_penalty = 1;  // above 1: favors tokens of the encoder's input, or of the prompt
  double repetition_penalty = 1;
  /// OpenAI's penalties. From the score of each token that has occurred in the new text, `presence_penalty`
  /// is subtracted once, and `frequency_penalty` once for each occurrence. The prompt does not count.
  double presence_penalty = 0, frequency_penalty = 0;
  int64_t no_repeat_ngram_size = 0;
  int64_t encoder_no_repeat_ngram_size = 0;
  std::vector<std::vector<int32_t>> bad_words_ids;
  bool remove_invalid_values = false;
  /// (start, factor). If there are n new tokens more than `start`, |s| * (factor^n - 1) is added to the score
  /// s of each end token.
  std::optional<std::pair<int64_t, double>> exponential_decay_length_penalty;
  std::vector<int32_t> suppress_tokens, begin_suppress_tokens;
  /// vLLM's option: if not empty, no other tokens can be chosen. The end tokens are not among them unless
  /// they are listed.
  std::vector<int32_t> allowed_token_ids;

  int64_t num_beams = 1;
  int64_t num_return_sequences = 1;
  double length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::no;
  LengthScore length_score = LengthScore::power;
  /// Diverse beam search (arXiv 1610.02424), as in transformers 4: `num_beam_groups` groups of num_beams /
  /// num_beam_groups beams search independently, one after the other at each step. diversity_penalty is
  /// subtracted from the score of a token once for each beam of an earlier group that has chosen this token
  /// in the same step. num_beam_groups = 1 is usual beam search.
  int64_t num_beam_groups = 1;
  double diversity_penalty = 0;
  std::optional<int32_t> pad_token_id;  // see padding()
  /// LightSeq's diverse beams: r * diverse_lambda is subtracted from the score of candidate r of a beam. The
  /// best candidate has r = 0, the next one r = 1.
  double diverse_lambda = 0;

  /// Resets the options for beams and for several results, so that one sequence is generated without beam
  /// search.
  void want_one_sequence();
  /// Returns whether the token is an end token.
  bool ends(int32_t token) const;
  /// Returns whether allowed_token_ids lets the token be chosen.
  bool allows(int32_t token) const;
  /// Returns the most tokens that may follow a prompt of the decoder. The result is below 1 if the prompt
  /// reaches max_length.
  int64_t new_tokens(size_t prompt_length) const {
    return max_length ? *max_length - static_cast<int64_t>(prompt_length) : max_new_tokens;
  }
  /// Returns pad_token_id, or the first end token if it is not set; nothing if there is neither. Beam groups
  /// that have ended count as having chosen this token.
  std::optional<int32_t> padding() const;
  /// Throws Error naming the option, its value and its range.
  void validate() const;
  /// Does the same, and checks that ids are tokens of this vocabulary.
  void validate(int64_t vocabulary) const;
};

/// Returns the options of a model from the JSON text `model` (Plan::model). They are the fields of its
/// generation_config.json. If there is no such file, they are the same fields of its config.json. End tokens
/// outside the model's vocabulary are left out. An empty text gives the defaults.
GenerationOptions model_generation_options(std::string_view model);
/// Throws Error if the model of Plan::model cannot write text from left to right, because it has another
/// head than one for the next token. The message says what the head gives. Models without a spec pass.
void require_text_writer(std::string_view model);
/// Returns the names of fields of the model's generation_config.json for which is_generation_field is false.
std::vector<std::string> unknown_generation_fields(std::string_view model);
/// Sets `options` to the fields of a generation_config.json. Throws one Error naming all fields that would
/// change the result and are not supported, or have a wrong type. Unknown fields are ignored.
void read_generation_config(std::string_view json, GenerationOptions& options);
/// Sets `options` to the same fields of a config.json, which also has fields of the model.
void read_model_config(std::string_view json, GenerationOptions& options);
/// Returns whether a field of this name is handled: supported, reported as not supported, or known to be
/// harmless.
bool is_generation_field(std::string_view name);
/// Sets `options` to the options of an application: the same fields, and decoder_start_token_id, seed,
/// sliding_window, presence_penalty, frequency_penalty and allowed_token_ids. Throws an Error that also names
/// unknown fields.
void read_generation_options(std::string_view json, GenerationOptions& options);

}  // namespace smelt
