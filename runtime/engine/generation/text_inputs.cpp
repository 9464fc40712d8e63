#include "runtime/engine/generation/text_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/engine/generation/beam_search.h"
#include "runtime/engine/generation/loop_inputs.h"
#include "runtime/engine/generation/run_ahead.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {
namespace {

constexpr int32_t kNoTokenOfPhrase = -1;
constexpr int64_t kNeverAt = -1;

int32_t as_place(int64_t length) {
  return static_cast<int32_t>(std::min<int64_t>(length, std::numeric_limits<int32_t>::max() / 2));
}

int64_t ends_from(const History& history, const GenerationOptions& options) {
  if (options.min_new_tokens == 0) return options.min_length;
  return as_place(options.min_new_tokens) + static_cast<int64_t>(history.prompt_length);
}

bool forces_first_token(const History& history, const GenerationOptions& options) {
  return history.prompt_length == 1 && options.forced_bos_token_id;
}

/// Returns the numbers per row of a state, which is sharded over no ranks.
size_t row_width(const Plan& plan, std::string_view state) {
  return static_cast<size_t>(plan.symbols.upper(plan.find_state(state)->shape[1]));
}

void set_kinds(Session& session, const GenerationOptions& options) {
  session.clear_state(state::text_kinds);
  const auto kinds = numbers<int32_t>(session.state(state::text_kinds));
  const size_t words = kinds.size() / kTokenKinds;
  const auto mark = [&](TokenKind kind, std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) kinds[kind * words + static_cast<size_t>(token)] = 1;
  };
  mark(kIsEnd, options.eos_token_id);
  if (options.forced_bos_token_id) mark(kIsForcedFirst, std::span(&*options.forced_bos_token_id, 1));
  mark(kIsForcedLast, options.forced_eos_token_id);
  mark(kIsSuppressed, never_chosen(options, words));
  mark(kIsSuppressedFirst, options.begin_suppress_tokens);
}

template <typename Part>
void set_rows(Session& session, std::string_view state, std::span<const History> rows, const Part& part) {
  session.clear_state(state);
  const auto all = numbers<int32_t>(session.state(state));
  const size_t width = row_width(session.plan(), state);
  for (size_t row = 0; row < rows.size(); ++row)
    std::ranges::copy(part(rows[row]), all.begin() + static_cast<ptrdiff_t>(row * width));
}

}  // namespace

TextInputs::Phrases::Phrases(int64_t most)
    : before(static_cast<size_t>(most * kPhraseTokens), kNoTokenOfPhrase),
      last(static_cast<size_t>(most), kNoTokenOfPhrase) {}

/// As transformers has it, a phrase counts in texts of at least its own length: one more token than those
/// before its last has to be there.
void TextInputs::Phrases::set(size_t i, std::span<const int32_t> tokens) {
  const auto row = std::span(before).subspan(i * static_cast<size_t>(kPhraseTokens), tokens.size());
  std::ranges::copy(tokens.first(tokens.size() - 1), row.rbegin() + 1);
  row.back() = kAnyToken;
  last[i] = tokens.back();
}

TextInputs::TextInputs(const Plan& plan, const GenerationOptions& options)
    : options_(options), biased_(kBiasedPhrases), banned_(kBannedPhrases) {
  numbers_.resize(kTextNumbers), integers_.resize(kTextIntegers);
  numbers_[kSourcePenalty] = static_cast<float>(1 / options.encoder_repetition_penalty);
  numbers_[kTextPenalty] = static_cast<float>(options.repetition_penalty);
  numbers_[kRankPenalty] = static_cast<float>(options.diverse_lambda);
  integers_[kNgram] = static_cast<int32_t>(options.no_repeat_ngram_size);
  integers_[kSourceNgram] = static_cast<int32_t>(options.encoder_no_repeat_ngram_size);
  integers_[kRemovesInvalid] = options.remove_invalid_values ? 1 : 0;
  integers_[kKeptOfBeam] = static_cast<int32_t>(kept_continuations(options));
  set_biases();
  set_bans();
  set_growth(row_width(plan, state::text_tokens));
}

void TextInputs::set_biases() {
  biases_.resize(static_cast<size_t>(kBiasedPhrases));
  biased_with_.resize(static_cast<size_t>(kBiasedPhrases * kBiasesOfToken), kNoTokenOfPhrase);
  size_t count = 0;
  for (const SequenceBias& bias : options_.sequence_bias) {
    if (bias.tokens.size() == 1) continue;
    biases_[count] = static_cast<float>(bias.bias);
    biased_.set(count++, bias.tokens);
  }
  for (size_t i = 0; i < count; ++i) {
    auto with = biased_with_.begin() + static_cast<ptrdiff_t>(i * static_cast<size_t>(kBiasesOfToken));
    for (size_t j = 0; j < count; ++j)
      if (biased_.last[j] == biased_.last[i]) *with++ = static_cast<int32_t>(j);
  }
}

void TextInputs::set_bans() {
  size_t count = 0;
  for (const std::vector<int32_t>& word : options_.bad_words_ids)
    if (word.size() > 1) banned_.set(count++, word);
}

/// Computes powers on the host, so that no graph has to reproduce their bits.
void TextInputs::set_growth(size_t places) {
  growth_.resize(places);
  if (!options_.exponential_decay_length_penalty) return;
  const double factor = options_.exponential_decay_length_penalty->second;
  for (size_t i = 1; i < places; ++i)
    growth_[i] = static_cast<float>(std::pow(factor, static_cast<double>(i)) - 1);
}

void TextInputs::add(const History& history, size_t read) {
  const auto prompt = static_cast<int64_t>(history.prompt_length);
  const bool forced = forces_first_token(history, options_);
  const auto& decay = options_.exponential_decay_length_penalty;
  int32_t row[kTextPlaces];
  const auto set = [&](TextPlace which, int64_t place) { row[which] = as_place(place); };
  set(kNotRead, static_cast<int64_t>(history.tokens.size() - read));
  set(kPassedOver, static_cast<int64_t>(history.padding));
  set(kSourceLength, std::ssize(history.source));
  set(kEndsFrom, ends_from(history, options_));
  set(kForcedFirstAt, options_.forced_bos_token_id ? 1 : kNeverAt);
  set(kForcedLastAt, options_.forced_eos_token_id.empty() ? kNeverAt : prompt + options_.max_new_tokens - 1);
  set(kSuppressedFirstAt, prompt + (forced ? 1 : 0));
  set(kEndsGrowFrom, decay ? as_place(decay->first) + prompt : 0);
  places_.insert(places_.end(), std::begin(row), std::end(row));
}

std::vector<InputTensor> TextInputs::tensors() const {
  const auto list = [](const DecodePort& port, const auto& values) {
    return port.tensor({std::ssize(values)}, values.data());
  };
  const auto table = [](const DecodePort& port, const std::vector<int32_t>& values, int64_t columns) {
    return port.tensor({std::ssize(values) / columns, columns}, values.data());
  };
  return {table(port::text_places, places_, kTextPlaces),
          list(port::text_numbers, numbers_),
          list(port::text_integers, integers_),
          list(port::end_growth, growth_),
          table(port::biased_before, biased_.before, kPhraseTokens),
          list(port::biased_last, biased_.last),
          list(port::biases, biases_),
          table(port::biased_with, biased_with_, kBiasesOfToken),
          table(port::banned_before, banned_.before, kPhraseTokens),
          list(port::banned_last, banned_.last)};
}

void set_text_states(Session& session, std::span<const History> rows, const GenerationOptions& options) {
  set_rows(session, state::text_tokens, rows, [](const History& row) { return row.tokens; });
  set_rows(session, state::text_source, rows, [](const History& row) { return row.source; });
  set_kinds(session, options);
  session.clear_state(state::next_bias);
  if (options.sequence_bias.empty() && options.bad_words_ids.empty()) return;
  const std::span<float> bias = session.state_f32(state::next_bias);
  const size_t words = row_width(session.plan(), state::next_bias);
  for (size_t row = 0; row < rows.size(); ++row)
    add_biases_of_tokens(options, bias.subspan(row * words, words));
}

}  // namespace smelt
