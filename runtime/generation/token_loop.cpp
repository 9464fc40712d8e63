#include "runtime/generation/token_loop.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include "runtime/error.h"
#include "runtime/generation/token_states.h"

namespace smelt {
namespace {

constexpr const char* kNextEntry = "next";
constexpr int32_t kNotYet = std::numeric_limits<int32_t>::min(), kNoToken = -1;
constexpr float kNoLogarithm = 1;  // of no probability
constexpr int64_t kRunsAhead = 8, kRunsTogether = 4;

template <typename T>
std::span<T> numbers(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

std::span<float> row_of(std::span<float> table, size_t row, size_t columns) {
  return table.subspan(row * columns, columns);
}

bool is_one_token(const SequenceBias& bias) { return bias.tokens.size() == 1; }

size_t held_back(const GenerationOptions& options) {
  return options.eos_token_id.size() + options.begin_suppress_tokens.size();
}

int64_t new_tokens(const History& history) {
  return static_cast<int64_t>(history.tokens.size() - history.prompt_length);
}

/// That any of the rows may still have.
int64_t most_new_tokens(std::span<const LoopRow> rows, const GenerationOptions& options) {
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const LoopRow& row : rows) fewest = std::min(fewest, new_tokens(row.history));
  return options.max_new_tokens - fewest;
}

/// New tokens before which no end may come.
int64_t fewest_new_tokens(const History& history, const GenerationOptions& options) {
  if (options.min_new_tokens > 0) return options.min_new_tokens;
  return std::max<int64_t>(0, options.min_length - static_cast<int64_t>(history.prompt_length));
}

}  // namespace

/// What the entry reads of each row, one row after the other.
struct TokenLoop::Inputs {
  std::vector<float> numbers, penalty;
  std::vector<int32_t> integers, held_back, held_back_until, forced, forced_at;

  Inputs(std::span<const LoopRow> rows, const GenerationOptions& options) {
    for (const LoopRow& row : rows) {
      const double temperature = options.greedy() ? 0 : options.temperature;
      for (const double number : {temperature, options.top_p, options.min_p})
        numbers.push_back(static_cast<float>(number));
      const int64_t top_k = std::min<int64_t>(options.top_k, std::numeric_limits<int32_t>::max());
      for (const int64_t integer : {top_k, int64_t{options.seed}, static_cast<int64_t>(row.index)})
        integers.push_back(static_cast<int32_t>(integer));
      penalty.push_back(static_cast<float>(options.repetition_penalty));
      hold_back(row, options);
      force(row, options);
    }
  }

  std::vector<InputTensor> tensors() const {
    const auto rows = static_cast<int64_t>(penalty.size());
    const auto table = [&](const char* name, DType dtype, const auto& values) {
      const auto columns = static_cast<int64_t>(values.size()) / rows;
      return InputTensor{name, dtype, {rows, columns}, values.data()};
    };
    return {table("numbers", DType::f32, numbers),
            table("integers", DType::i32, integers),
            {"penalty", DType::f32, {rows}, penalty.data()},
            table("held_back", DType::i32, held_back),
            table("held_back_until", DType::i32, held_back_until),
            table("forced", DType::i32, forced),
            table("forced_at", DType::i32, forced_at)};
  }

 private:
  /// The place in the row of new token `fresh`, those that are there already counted.
  static int32_t place_of(const LoopRow& row, int64_t fresh) {
    return static_cast<int32_t>(static_cast<int64_t>(row.read.size()) + fresh - new_tokens(row.history));
  }

  void hold_back(const LoopRow& row, const GenerationOptions& options) {
    const size_t end = held_back.size() + static_cast<size_t>(kHeldBackTokens);
    const auto add = [&](std::span<const int32_t> tokens, int64_t until) {
      held_back.insert(held_back.end(), tokens.begin(), tokens.end());
      held_back_until.resize(held_back.size(), place_of(row, until));
    };
    add(options.eos_token_id, fewest_new_tokens(row.history, options));
    add(options.begin_suppress_tokens, forces_first(row, options) ? 2 : 1);
    held_back.resize(end, kNoToken), held_back_until.resize(end, kNoToken);
  }

  static bool forces_first(const LoopRow& row, const GenerationOptions& options) {
    return row.history.prompt_length == 1 && options.forced_bos_token_id;
  }

  void force(const LoopRow& row, const GenerationOptions& options) {
    const bool first = forces_first(row, options), last = !options.forced_eos_token_id.empty();
    forced.push_back(first ? *options.forced_bos_token_id : kNoToken);
    forced_at.push_back(first ? place_of(row, 0) : kNoToken);
    forced.push_back(last ? options.forced_eos_token_id[0] : kNoToken);
    forced_at.push_back(last ? place_of(row, options.max_new_tokens - 1) : kNoToken);
  }
};

bool TokenLoop::has_entry(const Session& session) { return session.has_entry(kNextEntry); }

bool TokenLoop::takes(const GenerationOptions& options) {
  const bool searches = options.no_repeat_ngram_size > 0 || options.encoder_no_repeat_ngram_size > 0 ||
                        options.encoder_repetition_penalty != 1;
  const bool bends = options.remove_invalid_values || options.exponential_decay_length_penalty;
  const bool has_phrases =
      !std::ranges::all_of(options.sequence_bias, is_one_token) ||
      std::ranges::any_of(options.bad_words_ids, [](const auto& word) { return word.size() > 1; });
  const bool fits =
      held_back(options) <= static_cast<size_t>(kHeldBackTokens) && options.forced_eos_token_id.size() <= 1;
  return options.num_beams == 1 && !options.sliding_window && !searches && !bends && !has_phrases && fits;
}

TokenLoop::TokenLoop(Session& session) : session_(session) {
  const auto& symbols = session.plan().symbols;
  const auto extent = [&](std::string_view state, size_t axis) {
    return static_cast<size_t>(symbols.upper(session.plan().find_state(state)->shape[axis]));
  };
  places_ = extent(kNewTokens, 1), vocabulary_ = extent(kNextBias, 1);
  tokens_ = reinterpret_cast<const volatile int32_t*>(session.peek(kNewTokens).data());
  log_probabilities_ = reinterpret_cast<const volatile float*>(session.peek(kNewLogProbabilities).data());
  if (session.plan().target.starts_with("sm_")) ahead_ = kRunsAhead;
}

/// Added to every row's logits; the order of the processors holds, since nothing brings a banned token back.
void TokenLoop::set_biases(size_t rows, const GenerationOptions& options) {
  const bool wanted =
      !options.sequence_bias.empty() || !options.bad_words_ids.empty() || !options.suppress_tokens.empty();
  if (std::exchange(has_biases_, wanted) || wanted) session_.clear_state(kNextBias);
  if (!wanted) return;
  const std::span<float> all = session_.state_f32(kNextBias);
  for (size_t row = 0; row < rows; ++row) {
    const std::span<float> bias = row_of(all, row, vocabulary_);
    const auto ban = [&](int32_t token) { bias[static_cast<size_t>(token)] = static_cast<float>(kBanned); };
    for (const SequenceBias& each : options.sequence_bias)
      bias[static_cast<size_t>(each.tokens[0])] += static_cast<float>(each.bias);
    for (const auto& word : options.bad_words_ids)
      if (!options.ends(word[0])) ban(word[0]);
    for (const int32_t token : options.suppress_tokens) ban(token);
  }
}

void TokenLoop::set_penalties(std::span<const LoopRow> rows, const GenerationOptions& options) {
  const bool wanted = options.repetition_penalty != 1;
  if (std::exchange(has_penalties_, wanted) || wanted) session_.clear_state(kNextPenalty);
  if (!wanted) return;
  const std::span<float> all = session_.state_f32(kNextPenalty);
  for (size_t row = 0; row < rows.size(); ++row)
    for (const int32_t token : rows[row].history.tokens.subspan(rows[row].history.padding))
      row_of(all, row, vocabulary_)[static_cast<size_t>(token)] =
          static_cast<float>(options.repetition_penalty);
}

void TokenLoop::set_states(std::span<const LoopRow> rows, const GenerationOptions& options) {
  const auto last = numbers<int32_t>(session_.state(kNextToken));
  for (size_t row = 0; row < rows.size(); ++row) last[row] = rows[row].read.back();
  const auto past = numbers<int32_t>(session_.state(kNextPast));
  for (size_t row = 0; row < rows.size(); ++row) past[row] = static_cast<int32_t>(rows[row].read.size()) - 1;
  set_biases(rows.size(), options);
  set_penalties(rows, options);
  std::ranges::fill(numbers<int32_t>(session_.state(kNewTokens)), kNotYet);
  std::ranges::fill(session_.state_f32(kNewLogProbabilities), kNoLogarithm);
}

int32_t TokenLoop::token_at(size_t row, size_t place) const { return tokens_[row * places_ + place]; }

float TokenLoop::log_probability_at(size_t row, size_t place) const {
  return log_probabilities_[row * places_ + place];
}

/// A device that has stopped is asked why.
void TokenLoop::wait_for(size_t row, size_t place) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPatience = std::chrono::seconds(1);
  const auto begin = Clock::now();
  const auto is_there = [&] {
    return token_at(row, place) != kNotYet && log_probability_at(row, place) != kNoLogarithm;
  };
  for (int looks = 0; !is_there(); ++looks) {
    if (looks % 64 == 63) std::this_thread::yield();
    if (Clock::now() - begin < kPatience) continue;
    session_.synchronize();
    if (!is_there()) fail("entry '{}' has left no token of row {}", kNextEntry, row);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
}

void TokenLoop::run(std::span<const LoopRow> rows, const GenerationOptions& options,
                    const OnToken& on_token) {
  set_states(rows, options);
  const Inputs inputs(rows, options);
  const std::vector<InputTensor> tensors = inputs.tensors();
  std::vector<bool> runs(rows.size(), true);
  size_t live = rows.size();
  const size_t wanted = rows.size() / 2;
  const int64_t most = most_new_tokens(rows, options);
  for (int64_t seen = 0, launched = 0; live > wanted; ++seen) {
    if (seen + ahead_ >= launched + kRunsTogether || launched == seen) {
      const int64_t more = std::min(seen + ahead_, most) - launched;
      if (more > 0) session_.repeat(kNextEntry, tensors, static_cast<int>(more));
      launched += more;
    }
    for (size_t row = 0; row < rows.size(); ++row) {
      if (!runs[row]) continue;
      const size_t place = rows[row].read.size() + static_cast<size_t>(seen);
      wait_for(row, place);
      const int32_t token = token_at(row, place);
      if (token == kNoToken)
        fail_with(Status::numeric, "row {}: a logit is NaN, or all are -infinity: no token can be chosen",
                  row);
      runs[row] = on_token(row, token, log_probability_at(row, place));
      live -= runs[row] ? 0 : 1;
    }
  }
  session_.synchronize();
}

}  // namespace smelt
