#include "runtime/engine/generation/loop_inputs.h"

#include <algorithm>
#include <limits>

#include "runtime/engine/generation/logits_processors.h"
#include "runtime/engine/generation/token_states.h"
#include "runtime/plan/device_kind.h"

namespace smelt {
namespace {

constexpr int32_t kNone = -1;

/// New tokens before which no end may come.
int64_t fewest_new_tokens(const LoopPlace& row, const GenerationOptions& options) {
  if (options.min_new_tokens > 0) return options.min_new_tokens;
  return std::max<int64_t>(0, options.min_length - row.prompt_length);
}

/// Returns the place in the row of its new token number `fresh`.
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

InputTensor LoopInputs::table(const char* name, DType dtype, const auto& values) const {
  const auto rows = static_cast<int64_t>(penalty_.size());
  return {name, dtype, {rows, static_cast<int64_t>(values.size()) / rows}, values.data()};
}

std::vector<InputTensor> LoopInputs::of_drawing() const {
  return {table("numbers", DType::f32, numbers_), table("integers", DType::i32, integers_)};
}

std::vector<InputTensor> LoopInputs::tensors() const {
  std::vector<InputTensor> all = of_drawing();
  all.push_back({"penalty", DType::f32, {std::ssize(penalty_)}, penalty_.data()});
  for (const auto& [name, values] : {std::pair("held_back", &held_back_),
                                     {"held_back_until", &held_back_until_},
                                     {"forced", &forced_},
                                     {"forced_at", &forced_at_}})
    all.push_back(table(name, DType::i32, *values));
  return all;
}

bool has_biases(const GenerationOptions& options) {
  return !options.sequence_bias.empty() || !options.bad_words_ids.empty() || !options.suppress_tokens.empty();
}

void add_biases_of_tokens(const GenerationOptions& options, std::span<float> scores) {
  for (const SequenceBias& each : options.sequence_bias)
    if (each.tokens.size() == 1) scores[static_cast<size_t>(each.tokens[0])] += static_cast<float>(each.bias);
  for (const auto& word : options.bad_words_ids)
    if (word.size() == 1 && !options.ends(word[0]))
      scores[static_cast<size_t>(word[0])] = static_cast<float>(kBanned);
}

/// The order of the processors holds: nothing brings back a token that is banned.
void add_biases(const GenerationOptions& options, std::span<float> scores) {
  add_biases_of_tokens(options, scores);
  for (const int32_t token : options.suppress_tokens)
    scores[static_cast<size_t>(token)] = static_cast<float>(kBanned);
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
  return device_kind(target).queues_runs ? RunsAhead{.most = 8, .together = 4} : RunsAhead{};
}

}  // namespace smelt
