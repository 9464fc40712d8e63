#include "runtime/engine/generation/loop_inputs.h"

#include <algorithm>
#include <limits>

#include "runtime/engine/generation/logits_processors.h"
#include "runtime/engine/generation/sampling.h"
#include "runtime/plan/decode_contract.h"
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
  DrawSettings settings = settings_of(options);
  if (options.greedy()) settings.temperature = 0;
  settings.seed = options.seed, settings.index = static_cast<uint32_t>(row.index);
  append_columns(settings, numbers_, integers_);
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

InputTensor LoopInputs::table(const DecodePort& port, const auto& values) const {
  const int64_t rows = std::ssize(penalty_);
  return port.tensor({rows, std::ssize(values) / rows}, values.data());
}
std::vector<InputTensor> LoopInputs::of_drawing() const {
  return {table(port::numbers, numbers_), table(port::integers, integers_)};
}

std::vector<InputTensor> LoopInputs::tensors() const {
  std::vector<InputTensor> all = of_drawing();
  all.push_back(port::penalty.tensor({std::ssize(penalty_)}, penalty_.data()));
  all.push_back(table(port::held_back, held_back_));
  all.push_back(table(port::held_back_until, held_back_until_));
  all.push_back(table(port::forced, forced_));
  all.push_back(table(port::forced_at, forced_at_));
  return all;
}

bool has_biases(const GenerationOptions& options) {
  return !options.sequence_bias.empty() || !options.bad_words_ids.empty() ||
         !options.suppress_tokens.empty() || !options.allowed_token_ids.empty();
}

std::vector<int32_t> never_chosen(const GenerationOptions& options, size_t vocabulary) {
  std::vector<int32_t> tokens = options.suppress_tokens;
  if (options.allowed_token_ids.empty()) return tokens;
  std::vector<bool> allowed(vocabulary);
  for (const int32_t token : options.allowed_token_ids) allowed[static_cast<size_t>(token)] = true;
  for (size_t token = 0; token < vocabulary; ++token)
    if (!allowed[token]) tokens.push_back(static_cast<int32_t>(token));
  return tokens;
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
  for (const int32_t token : never_chosen(options, scores.size()))
    scores[static_cast<size_t>(token)] = static_cast<float>(kBanned);
}

void add_penalties(const GenerationOptions& options, std::span<const int32_t> tokens,
                   std::span<float> penalties) {
  if (options.repetition_penalty == 1) return;
  for (const int32_t token : tokens)
    penalties[static_cast<size_t>(token)] = static_cast<float>(options.repetition_penalty);
}

void set_positions(Session& session, std::span<const std::span<const int32_t>> rows) {
  const auto last = numbers<int32_t>(session.state(state::next_token));
  for (size_t row = 0; row < rows.size(); ++row) last[row] = rows[row].back();
  const auto past = numbers<int32_t>(session.state(state::next_past));
  for (size_t row = 0; row < rows.size(); ++row) past[row] = static_cast<int32_t>(rows[row].size()) - 1;
}

void set_biases(Session& session, size_t rows, const GenerationOptions& options) {
  session.clear_state(state::next_bias);
  if (!has_biases(options)) return;
  const std::span<float> all = session.state_f32(state::next_bias);
  const auto words = static_cast<size_t>(*session.plan().find_state(state::next_bias)->shape[1].constant());
  for (size_t row = 0; row < rows; ++row) add_biases(options, all.subspan(row * words, words));
}

RunsAhead runs_ahead(std::string_view target) {
  return device_kind(target).queues_runs ? RunsAhead{.most = 8, .together = 4} : RunsAhead{};
}

}  // namespace smelt
