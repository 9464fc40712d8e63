#include "runtime/engine/generation/token_loop.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/engine/generation/loop_inputs.h"
#include "runtime/engine/generation/run_ahead.h"
#include "runtime/engine/generation/text_inputs.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {
namespace {

std::span<float> row_of(std::span<float> table, size_t row, size_t columns) {
  return table.subspan(row * columns, columns);
}

int64_t new_tokens(const History& history) {
  return static_cast<int64_t>(history.tokens.size() - history.prompt_length);
}

/// Returns the most new tokens that all of the rows may still have.
int64_t most_new_tokens(std::span<const LoopRow> rows, const GenerationOptions& options) {
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const LoopRow& row : rows) fewest = std::min(fewest, new_tokens(row.history));
  return options.max_new_tokens - fewest;
}

}  // namespace

TokenLoop::TokenLoop(Session& session, const DecodeInterface& decode)
    : session_(session), vocabulary_(decode.vocabulary), chosen_(session, decode) {}
void TokenLoop::set_biases(size_t rows, const GenerationOptions& options) {
  session_.clear_state(state::next_bias);
  if (!has_biases(options)) return;
  const std::span<float> all = session_.state_f32(state::next_bias);
  for (size_t row = 0; row < rows; ++row) add_biases(options, row_of(all, row, vocabulary_));
}

void TokenLoop::set_penalties(std::span<const LoopRow> rows, const GenerationOptions& options) {
  session_.clear_state(state::next_penalty);
  if (options.repetition_penalty == 1) return;
  const std::span<float> all = session_.state_f32(state::next_penalty);
  for (size_t row = 0; row < rows.size(); ++row)
    add_penalties(options, rows[row].history.tokens.subspan(rows[row].history.padding),
                  row_of(all, row, vocabulary_));
}

void TokenLoop::set_states(std::span<const LoopRow> rows, const GenerationOptions& options, bool guided) {
  const auto last = numbers<int32_t>(session_.state(state::next_token));
  for (size_t row = 0; row < rows.size(); ++row) last[row] = rows[row].read.back();
  const auto past = numbers<int32_t>(session_.state(state::next_past));
  for (size_t row = 0; row < rows.size(); ++row) past[row] = static_cast<int32_t>(rows[row].read.size()) - 1;
  if (guided) {
    std::vector<History> texts;
    for (const LoopRow& row : rows) texts.push_back(row.history);
    set_text_states(session_, texts, options);
  } else {
    set_biases(rows.size(), options);
    set_penalties(rows, options);
  }
  chosen_.forget_all();
}

ChosenTokens::Token TokenLoop::token_at(size_t row, size_t place) const {
  try {
    return chosen_.at(row, place);
  } catch (const Error& error) {
    fail_with(error.status(), "row {}: {}", row, error.what());
  }
}

/// Inputs of one of the entries.
struct TokenLoop::Inputs {
  LoopInputs loop;
  std::optional<TextInputs> text;

  std::vector<InputTensor> tensors() const {
    if (!text) return loop.tensors();
    std::vector<InputTensor> all = text->tensors();
    for (InputTensor& input : loop.of_drawing()) all.push_back(std::move(input));
    return all;
  }

  void add(const LoopRow& row, const GenerationOptions& options) {
    loop.add({.read = std::ssize(row.read),
              .prompt_length = static_cast<int64_t>(row.history.prompt_length),
              .fresh = new_tokens(row.history),
              .index = static_cast<int64_t>(row.index)},
             options);
    if (text) text->add(row.history, row.read.size());
  }
};

size_t TokenLoop::run(std::span<const LoopRow> rows, const GenerationOptions& options, bool guided,
                      const OnToken& on_token) {
  set_states(rows, options, guided);
  Inputs inputs;
  if (guided) inputs.text.emplace(session_.plan(), options);
  for (const LoopRow& row : rows) inputs.add(row, options);
  RunAhead runs(session_, guided ? entry::next_guided : entry::next, inputs.tensors(),
                most_new_tokens(rows, options));
  std::vector<bool> goes_on(rows.size(), true);
  size_t live = rows.size();
  const size_t wanted = rows.size() / 2;
  for (int64_t seen = 0; live > wanted; ++seen) {
    runs.start(seen);
    for (size_t row = 0; row < rows.size(); ++row) {
      if (!goes_on[row]) continue;
      const size_t place = rows[row].read.size() + static_cast<size_t>(seen);
      runs.wait([&] { return chosen_.is_there(row, place); });
      const ChosenTokens::Token token = token_at(row, place);
      goes_on[row] = on_token(row, token.id, token.log_probability);
      live -= goes_on[row] ? 0 : 1;
    }
  }
  session_.synchronize();
  return static_cast<size_t>(runs.started());
}

}  // namespace smelt
