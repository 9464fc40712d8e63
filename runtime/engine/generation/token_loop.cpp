#include "runtime/engine/generation/token_loop.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/engine/generation/loop_inputs.h"
#include "runtime/engine/generation/run_ahead.h"
#include "runtime/engine/generation/step_loop.h"
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
void TokenLoop::set_penalties(std::span<const LoopRow> rows, const GenerationOptions& options) {
  session_.clear_state(state::next_penalty);
  if (options.repetition_penalty == 1) return;
  const std::span<float> all = session_.state_f32(state::next_penalty);
  for (size_t row = 0; row < rows.size(); ++row)
    add_penalties(options, rows[row].history.tokens.subspan(rows[row].history.padding),
                  row_of(all, row, vocabulary_));
}

void TokenLoop::set_states(std::span<const LoopRow> rows, const GenerationOptions& options, bool guided) {
  std::vector<std::span<const int32_t>> read;
  for (const LoopRow& row : rows) read.push_back(row.read);
  set_positions(session_, read);
  if (guided) {
    std::vector<History> texts;
    for (const LoopRow& row : rows) texts.push_back(row.history);
    set_text_states(session_, texts, options);
  } else {
    set_biases(session_, rows.size(), options);
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

/// Policy of rows whose tokens the plan samples.
struct TokenLoop::Steps {
  const TokenLoop& loop;
  std::span<const LoopRow> rows;
  const OnToken& on_token;
  RunAhead runs;
  std::vector<bool> live = std::vector<bool>(rows.size(), true);

  bool goes_on() const { return std::ranges::count(live, true) > std::ssize(rows) / 2; }
  int64_t start() { return runs.start(); }
  int64_t under_way() const { return runs.under_way(); }
  void take() {
    const auto run = static_cast<size_t>(runs.take());
    for (size_t row = 0; row < rows.size(); ++row)
      if (live[row]) live[row] = take(row, rows[row].read.size() + run);
  }
  bool take(size_t row, size_t place) {
    runs.wait([&] { return loop.chosen_.is_there(row, place); });
    const ChosenTokens::Token token = loop.token_at(row, place);
    return on_token(row, token.id, token.log_probability);
  }
};

size_t TokenLoop::run(std::span<const LoopRow> rows, const GenerationOptions& options, bool guided,
                      const OnToken& on_token) {
  set_states(rows, options, guided);
  Inputs inputs;
  if (guided) inputs.text.emplace(session_.plan(), options);
  for (const LoopRow& row : rows) inputs.add(row, options);
  Steps steps{*this,
              rows,
              on_token,
              {session_, guided ? entry::next_guided : entry::next, inputs.tensors(),
               most_new_tokens(rows, options)}};
  run_steps(steps);
  session_.synchronize();
  return static_cast<size_t>(steps.runs.started());
}

}  // namespace smelt
