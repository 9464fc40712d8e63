#include "runtime/engine/generation/generation_options.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/base/error.h"

namespace smelt {
namespace {

template <typename T>
void check(bool good, const char* name, T value, const char* expected) {
  if (!good) fail("{} {}: expected {}", name, value, expected);
}

/// Returns whether x is positive as an f32, with which scores are multiplied.
bool is_positive(double x) {
  const auto narrow = static_cast<float>(x);
  return narrow > 0 && std::isfinite(narrow);
}

void check_groups(const GenerationOptions& options) {
  const int64_t beams = options.num_beams, groups = options.num_beam_groups;
  check(groups >= 1 && groups <= beams, "num_beam_groups", groups, "1 to num_beams");
  if (beams % groups != 0)
    fail("num_beam_groups {}: expected a number that divides num_beams, which is {}", groups, beams);
  check(options.diversity_penalty >= 0 && std::isfinite(options.diversity_penalty), "diversity_penalty",
        options.diversity_penalty, "a number >= 0");
  check(options.diverse_lambda >= 0 && std::isfinite(options.diverse_lambda), "diverse_lambda",
        options.diverse_lambda, "a number >= 0");
  if (groups > 1 && options.diversity_penalty == 0)
    fail("num_beam_groups {}: expected a diversity_penalty > 0, without which all groups find the same",
         groups);
  if (groups == 1 && options.diversity_penalty != 0)
    fail("diversity_penalty {}: expected num_beam_groups of 2 or more, among which it counts",
         options.diversity_penalty);
  if (groups > 1 && options.do_sample)
    fail("num_beam_groups {}: groups of beams do not draw; leave out do_sample", groups);
  if (options.diverse_lambda == 0) return;
  if (beams == 1) fail("diverse_lambda {}: expected num_beams of 2 or more", options.diverse_lambda);
  if (groups > 1 || !options.greedy())
    fail("diverse_lambda {}: expected neither num_beam_groups nor do_sample beside it",
         options.diverse_lambda);
}

void check_beams(const GenerationOptions& options) {
  const int64_t beams = options.num_beams, wanted = options.num_return_sequences;
  if (beams < 1 || beams > kMostBeams) fail("num_beams {}: expected 1 to {}", beams, kMostBeams);
  if (wanted < 1 || wanted > kMostSequences)
    fail("num_return_sequences {}: expected 1 to {}", wanted, kMostSequences);
  if (wanted <= beams) return;
  if (beams > 1) fail("num_return_sequences {}: expected at most num_beams, which is {}", wanted, beams);
  if (options.greedy())
    fail("num_return_sequences {}: greedy decoding has one result; give do_sample or num_beams", wanted);
}

/// Checks that not all tokens are banned in every context.
void check_any_is_left(const GenerationOptions& options, int64_t vocabulary) {
  std::set<int32_t> never(options.suppress_tokens.begin(), options.suppress_tokens.end());
  for (const std::vector<int32_t>& word : options.bad_words_ids)
    if (word.size() == 1) never.insert(word.front());
  for (const SequenceBias& row : options.sequence_bias)
    if (row.tokens.size() == 1 && std::isinf(row.bias)) never.insert(row.tokens.front());
  std::set<int32_t> left(options.allowed_token_ids.begin(), options.allowed_token_ids.end());
  const int64_t most = left.empty() ? vocabulary : std::ssize(left);
  std::erase_if(never, [&](int32_t token) { return !left.empty() && !left.contains(token); });
  if (std::ssize(never) == most)
    fail(
        "suppress_tokens, bad_words_ids, sequence_bias and allowed_token_ids leave none of the {} tokens: "
        "expected one that may come",
        vocabulary);
}

}  // namespace

void SamplingOptions::validate() const {
  check(temperature >= 0 && std::isfinite(temperature), "temperature", temperature,
        "a number >= 0 (0 = greedy)");
  check(top_k >= 0, "top_k", top_k, "a number >= 0 (0 = all tokens)");
  check(top_p > 0 && top_p <= 1, "top_p", top_p, "a number in (0, 1]");
  check(min_p >= 0 && min_p <= 1, "min_p", min_p, "a number in [0, 1]");
}

bool GenerationOptions::ends(int32_t token) const { return std::ranges::count(eos_token_id, token) > 0; }

bool GenerationOptions::allows(int32_t token) const {
  return allowed_token_ids.empty() || std::ranges::count(allowed_token_ids, token) > 0;
}

void GenerationOptions::want_one_sequence() {
  num_beams = num_return_sequences = num_beam_groups = 1;
  diversity_penalty = diverse_lambda = 0;
}

std::optional<int32_t> GenerationOptions::padding() const {
  if (pad_token_id) return pad_token_id;
  return eos_token_id.empty() ? std::nullopt : std::optional(eos_token_id.front());
}

void GenerationOptions::validate() const {
  SamplingOptions::validate();
  for (const auto& [name, count] : {std::pair("max_new_tokens", max_new_tokens),
                                    {"max_length", max_length.value_or(1)},
                                    {"min_new_tokens", min_new_tokens},
                                    {"min_length", min_length},
                                    {"no_repeat_ngram_size", no_repeat_ngram_size},
                                    {"encoder_no_repeat_ngram_size", encoder_no_repeat_ngram_size}})
    check(count >= 0, name, count, "0 or more");
  for (const auto& [name, penalty] : {std::pair("repetition_penalty", repetition_penalty),
                                      {"encoder_repetition_penalty", encoder_repetition_penalty}})
    check(is_positive(penalty), name, penalty, "a number > 0 (1 = none)");
  for (const auto& [name, penalty] :
       {std::pair("presence_penalty", presence_penalty), {"frequency_penalty", frequency_penalty}})
    check(std::abs(penalty) <= kMostTokenPenalty, name, penalty, "a number from -2 to 2 (0 = none)");
  check(std::isfinite(length_penalty), "length_penalty", length_penalty, "a finite number");
  if (const auto& decay = exponential_decay_length_penalty) {
    check(decay->first >= 0, "exponential_decay_length_penalty: start", decay->first, "0 or more");
    check(is_positive(decay->second), "exponential_decay_length_penalty: factor", decay->second,
          "a number > 0");
  }
  check_beams(*this);
  check_groups(*this);
}

void GenerationOptions::validate(int64_t vocabulary) const {
  validate();
  const auto check_id = [&](const char* name, int32_t id) {
    if (id < 0 || id >= vocabulary) fail("{} {}: outside the model's vocabulary of {}", name, id, vocabulary);
  };
  const auto check_ids = [&](const char* name, const std::vector<int32_t>& ids) {
    for (const int32_t id : ids) check_id(name, id);
  };
  check_ids("eos_token_id", eos_token_id);
  check_ids("suppress_tokens", suppress_tokens);
  check_ids("allowed_token_ids", allowed_token_ids);
  check_ids("begin_suppress_tokens", begin_suppress_tokens);
  check_ids("forced_eos_token_id", forced_eos_token_id);
  check_id("decoder_start_token_id", decoder_start_token_id);
  if (forced_bos_token_id) check_id("forced_bos_token_id", *forced_bos_token_id);
  const auto check_sequence = [&](const char* name, const std::vector<int32_t>& ids) {
    if (ids.empty()) fail("{}: an empty list; expected at least one token id in each", name);
    check_ids(name, ids);
  };
  for (const std::vector<int32_t>& word : bad_words_ids) check_sequence("bad_words_ids", word);
  for (const SequenceBias& row : sequence_bias) {
    check_sequence("sequence_bias", row.tokens);
    const bool is_number = std::isfinite(static_cast<float>(row.bias)) || row.bias < 0;
    check(is_number, "sequence_bias", row.bias, "a number in the range of f32, or -infinity");
  }
  check_any_is_left(*this, vocabulary);
}

}  // namespace smelt
