#include "runtime/generation/loop_inputs.h"

#include <algorithm>
#include <limits>

#include "runtime/generation/logits_processors.h"
#include "runtime/generation/token_states.h"
#include "runtime/system/log.h"

namespace smelt {
namespace {

constexpr int32_t kNone = -1;

/// New tokens before which no end may come.
int64_t fewest_new_tokens(const LoopPlace& row, const GenerationOptions& options) {
  if (options.min_new_tokens > 0) return options.min_new_tokens;
  return std::max<int64_t>(0, options.min_length - row.prompt_length);
}

/// The place in the row of its new token number `fresh`.
int32_t place_of(const LoopPlace& row, int64_t fresh) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::min(row.read - row.fresh + std::min(fresh, kMost), kMost));
}

bool forces_first(const LoopPlace& row, const GenerationOptions& options) {
  return row.prompt_length == 1 && options.forced_bos_token_id;
}

}  // namespace

void LoopInputs::add(const LoopPlace& row, const GenerationOptions& options) {
  const double temperature = options.greedy() ? 0 : options.temperature;
  for (const double number : {temperature, options.top_p, options.min_p})
    numbers_.push_back(static_cast<float>(number));
  const int64_t top_k = std::min<int64_t>(options.top_k, std::numeric_limits<int32_t>::max());
  for (const int64_t integer : {top_k, int64_t{options.seed}, int64_t{0}, row.index})
    integers_.push_back(static_cast<int32_t>(integer));
  penalty_.push_back(static_cast<float>(options.repetition_penalty));
  hold_back(row, options);
  force(row, options);
}

void LoopInputs::hold_back(const LoopPlace& row, const GenerationOptions& options) {
  const size_t end = held_back_.size() + static_cast<size_t>(kHeldBackTokens);
  const auto add = [&](std::span<const int32_t> tokens, int64_t until) {
    held_back_.insert(held_back_.end(), tokens.begin(), tokens.end());
    held_back_until_.resize(held_back_.size(), place_of(row, until));
  };
  add(options.eos_token_id, fewest_new_tokens(row, options));
  add(options.begin_suppress_tokens, forces_first(row, options) ? 2 : 1);
  held_back_.resize(end, kNone), held_back_until_.resize(end, kNone);
}

void LoopInputs::force(const LoopPlace& row, const GenerationOptions& options) {
  const bool first = forces_first(row, options), last = !options.forced_eos_token_id.empty();
  forced_.push_back(first ? *options.forced_bos_token_id : kNone);
  forced_at_.push_back(first ? place_of(row, 0) : kNone);
  forced_.push_back(last ? options.forced_eos_token_id[0] : kNone);
  forced_at_.push_back(last ? place_of(row, options.max_new_tokens - 1) : kNone);
}

std::vector<InputTensor> LoopInputs::tensors() const {
  const auto rows = static_cast<int64_t>(penalty_.size());
  const auto table = [&](const char* name, DType dtype, const auto& values) {
    return InputTensor{name, dtype, {rows, static_cast<int64_t>(values.size()) / rows}, values.data()};
  };
  return {table("numbers", DType::f32, numbers_),
          table("integers", DType::i32, integers_),
          {"penalty", DType::f32, {rows}, penalty_.data()},
          table("held_back", DType::i32, held_back_),
          table("held_back_until", DType::i32, held_back_until_),
          table("forced", DType::i32, forced_),
          table("forced_at", DType::i32, forced_at_)};
}

namespace {

bool has_phrases(const GenerationOptions& options) {
  return std::ranges::any_of(options.sequence_bias,
                             [](const auto& bias) { return bias.tokens.size() > 1; }) ||
         std::ranges::any_of(options.bad_words_ids, [](const auto& word) { return word.size() > 1; });
}

bool forces_what_is_suppressed(const GenerationOptions& options) {
  const auto is_suppressed = [&](int32_t token) {
    return std::ranges::count(options.suppress_tokens, token) > 0 ||
           std::ranges::count(options.begin_suppress_tokens, token) > 0;
  };
  return std::ranges::any_of(options.forced_eos_token_id, is_suppressed) ||
         (options.forced_bos_token_id && is_suppressed(*options.forced_bos_token_id));
}

}  // namespace

std::string_view loops_refuse_scores(const GenerationOptions& options) {
  const size_t held_back = options.eos_token_id.size() + options.begin_suppress_tokens.size();
  if (options.sliding_window) return "sliding_window";
  if (options.no_repeat_ngram_size > 0) return "no_repeat_ngram_size looks for something in the text";
  if (options.encoder_no_repeat_ngram_size > 0)
    return "encoder_no_repeat_ngram_size looks for something in the text";
  if (options.encoder_repetition_penalty != 1)
    return "encoder_repetition_penalty looks for something in the text";
  if (options.remove_invalid_values) return "remove_invalid_values";
  if (options.exponential_decay_length_penalty) return "exponential_decay_length_penalty";
  if (has_phrases(options)) return "sequence_bias or bad_words_ids of several tokens";
  if (forces_what_is_suppressed(options)) return "a forced token is suppressed";
  if (held_back > static_cast<size_t>(kHeldBackTokens))
    return "more than 16 tokens are ends or suppressed at the beginning";
  if (options.forced_eos_token_id.size() > 1) return "several tokens are forced at the end";
  return "";
}

bool is_taken(const char* entry, std::string_view refusal) {
  if (!refusal.empty())
    log(LogLevel::info, "the host chooses tokens, not the entry '{}': {}", entry, refusal);
  return refusal.empty();
}

bool has_biases(const GenerationOptions& options) {
  return !options.sequence_bias.empty() || !options.bad_words_ids.empty() || !options.suppress_tokens.empty();
}

/// The order of the processors holds: nothing brings back a token that is banned.
void add_biases(const GenerationOptions& options, std::span<float> scores) {
  const auto ban = [&](int32_t token) { scores[static_cast<size_t>(token)] = static_cast<float>(kBanned); };
  for (const SequenceBias& each : options.sequence_bias)
    scores[static_cast<size_t>(each.tokens[0])] += static_cast<float>(each.bias);
  for (const auto& word : options.bad_words_ids)
    if (!options.ends(word[0])) ban(word[0]);
  for (const int32_t token : options.suppress_tokens) ban(token);
}

void add_penalties(const GenerationOptions& options, std::span<const int32_t> tokens,
                   std::span<float> penalties) {
  if (options.repetition_penalty == 1) return;
  for (const int32_t token : tokens)
    penalties[static_cast<size_t>(token)] = static_cast<float>(options.repetition_penalty);
}

size_t state_extent(const Plan& plan, std::string_view state, size_t axis) {
  return static_cast<size_t>(plan.symbols.upper(plan.find_state(state)->shape[axis]));
}

RunsAhead runs_ahead(std::string_view target) {
  return target.starts_with("sm_") ? RunsAhead{.most = 8, .together = 4} : RunsAhead{};
}

}  // namespace smelt
