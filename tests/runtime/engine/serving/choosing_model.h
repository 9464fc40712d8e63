// The model of remembering_model.h with a plan that samples the next tokens itself, in the entry @next_pages
// or @mixed_pages, and in @sample_allowed those that the host restricts.
#pragma once

#include <atomic>
#include <limits>
#include <map>

#include "runtime/engine/generation/logits_processors.h"
#include "runtime/engine/generation/sampling.h"
#include "runtime/plan/decode_contract.h"
#include "tests/runtime/engine/serving/remembering_model.h"

namespace smelt {

/// Bytes of a row of the input `allowed`.
constexpr int64_t kMaskBytes = (kWords + 31) / 32 * 4;

/// Returns remembering_pages_plan with the entry @next_pages in place of the last one, the additional entries
/// @sample_allowed and @begin_pages, and the states that these entries use.
inline Plan choosing_pages_plan(int64_t slots, int64_t capacity, int64_t pages) {
  Plan plan = remembering_pages_plan(slots, capacity, pages);
  const Dim b = Dim::symbol("B");
  const auto state = [&](std::string_view name, Role role, DType dtype, Shape shape) {
    plan.states.push_back({std::string(name), role, dtype, std::move(shape), {}, {}});
  };
  state(state::next_token, Role::cache, DType::i32, {slots, 1});
  state(state::next_bias, Role::cache, DType::f32, {slots, kWords});
  state(state::next_penalty, Role::cache, DType::f32, {slots, kWords, 1});
  state(state::new_tokens, Role::stream, DType::i32, {slots, capacity + 1, 1});
  state(state::new_log_probabilities, Role::stream, DType::f32, {slots, capacity + 1, 1});
  state(state::next_logits, Role::cache, DType::f32, {slots, kWords});
  PlanEntry& next = plan.entries.back();
  next.name = entry::next_pages;
  const auto input = [&](const char* name, DType dtype, int64_t columns) {
    next.inputs.push_back({name, dtype, columns > 1 ? Shape{b, columns} : Shape{b}});
  };
  input("slots", DType::i32, 1), input("numbers", DType::f32, 3), input("integers", DType::i32, 4);
  input("penalty", DType::f32, 1), input("held_back", DType::i32, kHeldBackTokens);
  input("held_back_until", DType::i32, kHeldBackTokens), input("forced", DType::i32, kForcedTokens);
  input("forced_at", DType::i32, kForcedTokens);
  PlanEntry sample = {entry::sample_allowed,
                      {{"allowed", DType::u8, {b, kMaskBytes}}, {"past_length", DType::i32, {b}}},
                      {},
                      {},
                      0};
  sample.inputs.insert(sample.inputs.end(), next.inputs.begin() + 3, next.inputs.end());
  input("logits_slots", DType::i32, 1);
  plan.entries.push_back(std::move(sample));
  plan.entries.push_back(
      {entry::begin_pages,
       {{"slot", DType::i32, {1}}, {"bias", DType::f32, {1, kWords}}, {"penalties", DType::f32, {1, kWords}}},
       {},
       {},
       0});
  return plan;
}

/// Returns the same plan with the entry @mixed_pages, of up to `tokens` tokens, in place of those that read
/// one prompt or one token per row.
inline Plan mixing_pages_plan(int64_t slots, int64_t capacity, int64_t pages, int64_t tokens) {
  Plan plan = choosing_pages_plan(slots, capacity, pages);
  plan.symbols.bound({"M"}, tokens);
  const PlanEntry begin = plan.entries.back(), sample = plan.entries[plan.entries.size() - 2];
  PlanEntry mixed = plan.entries[plan.entries.size() - 3];
  const Dim b = Dim::symbol("B"), m = Dim::symbol("M");
  std::vector<Port> inputs;
  for (const char* name : {"token_ids", "token_rows", "token_pasts"})
    inputs.push_back({name, DType::i32, {m}});
  inputs.push_back(mixed.inputs[1]);
  inputs.push_back({"last_tokens", DType::i32, {b}});
  inputs.insert(inputs.end(), mixed.inputs.begin() + 3, mixed.inputs.end());
  mixed.name = entry::mixed_pages, mixed.inputs = std::move(inputs);
  plan.entries = {mixed, sample, begin};
  return plan;
}

/// Memory of the states of choosing_pages_plan.
struct ChoiceStates {
  int32_t* next;
  float *bias, *penalty;
  int32_t* tokens;
  float *log_probabilities, *logits;
  size_t places;  // positions per slot in `tokens` and `log_probabilities`
};

/// Executor functions of the entries @begin_pages, @next_pages, @mixed_pages and @sample_allowed.
class RememberingChoice : public RememberingPages {
 public:
  using RememberingPages::RememberingPages;

  /// Runs @begin_pages. `inputs` are in the order of the entry's ports, here and in next().
  static void begin(std::span<const void* const> inputs, const ChoiceStates& states) {
    const auto slot = static_cast<size_t>(*static_cast<const int32_t*>(inputs[0]));
    std::copy_n(static_cast<const float*>(inputs[1]), kColumns, states.bias + slot * kColumns);
    std::copy_n(static_cast<const float*>(inputs[2]), kColumns, states.penalty + slot * kColumns);
  }
  /// Runs @next_pages. `width`: number of pages in the page list of a row. `logits`: output [rows, kWords];
  /// may be null.
  void next(std::span<const void* const> inputs, size_t rows, size_t width, float* logits,
            const ChoiceStates& states) {
    for (size_t row = 0; row < rows; ++row)
      next({inputs, row}, width, logits ? logits + row * kColumns : nullptr, states);
  }

  /// Runs @mixed_pages, of `tokens` tokens.
  void mix(std::span<const void* const> inputs, size_t tokens, size_t rows, size_t width, float* logits,
           const ChoiceStates& states) {
    const auto ints = [&](size_t input) { return static_cast<const int32_t*>(inputs[input]); };
    std::map<size_t, std::vector<float>> after;  // by token, of those that are the last of a row
    for (size_t token = 0; token < tokens; ++token) {
      if (ints(1)[token] < 0) continue;
      const auto row = static_cast<size_t>(ints(1)[token]);
      const int32_t id = ints(0)[token] < 0 ? states.next[ints(5)[row]] : ints(0)[token];
      after[token] = read(ints(3) + row * width, static_cast<size_t>(ints(2)[token]), {&id, 1});
      ++read_tokens;
    }
    for (size_t row = 0; row < rows; ++row) {
      const auto found = after.find(static_cast<size_t>(ints(4)[row]));
      if (found == after.end()) continue;
      if (logits) std::ranges::copy(found->second, logits + row * kColumns);
      const Row of_row{inputs.subspan(2), row};
      end_run(of_row, found->second, static_cast<size_t>(ints(2)[found->first]), states);
    }
  }

  /// Runs @sample_allowed.
  static void sample(std::span<const void* const> inputs, size_t rows, const ChoiceStates& states) {
    std::vector<const void*> as_next(inputs.begin(), inputs.end());
    as_next.insert(as_next.begin() + 2,
                   nullptr);  // the settings then have the places that they have in @next_pages
    for (size_t at = 0; at < rows; ++at) {
      const Row row{as_next, at};
      const int32_t slot = *row.at<int32_t>(3, 1);
      if (slot < 0) continue;
      const std::vector<float> logits(states.logits + static_cast<size_t>(slot) * kColumns,
                                      states.logits + (static_cast<size_t>(slot) + 1) * kColumns);
      std::vector<float> scores = logits;
      const auto* allowed = row.at<uint8_t>(0, static_cast<size_t>(kMaskBytes));
      for (size_t word = 0; word < scores.size(); ++word)
        if ((allowed[word / 8] >> word % 8 & 1) == 0) scores[word] = -std::numeric_limits<float>::infinity();
      leave(row, logits, scores, static_cast<size_t>(*row.at<int32_t>(1, 1)), states);
    }
  }
  size_t read_tokens = 0;  // by mix(), without padding

 private:
  static constexpr auto kColumns = static_cast<size_t>(kWords);

  /// The inputs of @next_pages for one row.
  struct Row {
    std::span<const void* const> inputs;
    size_t row;
    template <typename T>
    const T* at(size_t input, size_t columns) const {
      return static_cast<const T*>(inputs[input]) + row * columns;
    }
  };

  void next(const Row& row, size_t width, float* logits_out, const ChoiceStates& states) {
    const auto slot = static_cast<size_t>(*row.at<int32_t>(3, 1));
    const int32_t given = *row.at<int32_t>(0, 1), token = given < 0 ? states.next[slot] : given;
    const auto past = static_cast<size_t>(*row.at<int32_t>(2, 1));
    const std::vector<float> logits = read(row.at<int32_t>(1, width), past, {&token, 1});
    if (logits_out) std::ranges::copy(logits, logits_out);
    end_run(row, logits, past, states);
  }

  /// Samples the token after `past` + 1 tokens, or stores the logits.
  static void end_run(const Row& row, std::span<const float> logits, size_t past,
                      const ChoiceStates& states) {
    if (const int32_t kept = *row.at<int32_t>(11, 1); kept >= 0)
      std::ranges::copy(logits, states.logits + static_cast<size_t>(kept) * kColumns);
    else if (*row.at<int32_t>(3, 1) >= 0)
      leave(row, logits, logits, past, states);
  }

  /// Samples a token by its score. Its log-probability is that of the logits.
  static void leave(const Row& row, std::span<const float> logits, std::span<const float> scores, size_t past,
                    const ChoiceStates& states) {
    const auto slot = static_cast<size_t>(*row.at<int32_t>(3, 1));
    const int32_t chosen = choose(row, slot, scores, static_cast<int32_t>(past + 1), states);
    states.next[slot] = chosen;
    states.penalty[slot * kColumns + static_cast<size_t>(chosen)] = *row.at<float>(6, 1);
    const size_t at = slot * states.places + past + 1;
    std::atomic_ref(states.log_probabilities[at]).store(log_probability(logits, chosen));
    std::atomic_ref(states.tokens[at]).store(chosen);
  }

  static int32_t choose(const Row& row, size_t slot, std::span<const float> logits, int32_t place,
                        const ChoiceStates& states) {
    constexpr auto kHeld = static_cast<size_t>(kHeldBackTokens), kForced = static_cast<size_t>(kForcedTokens);
    for (size_t i = 0; i < kForced; ++i)
      if (row.at<int32_t>(10, kForced)[i] == place) return row.at<int32_t>(9, kForced)[i];
    std::vector<double> scores;
    for (size_t word = 0; word < logits.size(); ++word) {
      const float bent = logits[word] + states.bias[slot * kColumns + word];
      const float by = states.penalty[slot * kColumns + word];
      scores.push_back(by == 0 ? bent : bent < 0 ? bent * by : bent / by);
    }
    for (size_t i = 0; i < kHeld; ++i)
      if (const int32_t held = row.at<int32_t>(7, kHeld)[i];
          held >= 0 && place < row.at<int32_t>(8, kHeld)[i])
        scores[static_cast<size_t>(held)] = kBanned;
    const float* numbers = row.at<float>(4, 3);
    const int32_t* integers = row.at<int32_t>(5, 4);
    SamplingOptions options;
    options.do_sample = true, options.temperature = numbers[0], options.top_p = numbers[1];
    options.min_p = numbers[2], options.top_k = integers[0];
    return draw(candidates(scores, options),
                uniform_number(static_cast<uint32_t>(integers[1]), static_cast<size_t>(place),
                               static_cast<size_t>(integers[3])));
  }
};

}  // namespace smelt
