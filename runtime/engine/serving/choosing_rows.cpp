#include "runtime/engine/serving/choosing_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/engine/generation/loop_choice.h"
#include "runtime/engine/generation/loop_inputs.h"
#include "runtime/engine/generation/run_ahead.h"

namespace smelt {

/// Inputs of one run of @next_pages.
struct ChoosingRows::ChoiceInputs {
  StepInputs read;
  std::vector<int32_t> slots;
  LoopInputs choice;

  std::vector<InputTensor> tensors() const {
    std::vector<InputTensor> all = read.tensors();
    for (InputTensor& input : choice.tensors()) all.push_back(std::move(input));
    all.push_back(port::slots.tensor({std::ssize(slots)}, slots.data()));
    return all;
  }
};

std::string ChoosingRows::refuses(const Request& request) {
  if (request.log_probabilities.value_or(0) > 0) return "the most probable tokens beside each new one";
  return plain_choice_refuses(request.options);
}

/// The states may hold stale data from an earlier user of the session.
ChoosingRows::ChoosingRows(Session& session, const DecodeInterface& decode, bool shares_prefixes)
    : PageRows(session, decode, shares_prefixes),
      chosen_(session, decode),
      slots_(slots()),
      plain_(slots()),
      bias_(static_cast<size_t>(vocabulary())),
      penalties_(bias_.size()) {
  std::iota(slots_.begin(), slots_.end(), size_t{0});
  chosen_.forget_all();
}

void ChoosingRows::move(size_t from, size_t to, size_t length) {
  PageRows::move(from, to, length);
  std::swap(slots_[from], slots_[to]);
}

void ChoosingRows::forget() {
  PageRows::forget();
  plain_.assign(plain_.size(), false);
  try {
    session_.synchronize();
    chosen_.forget_all();
  } catch (const Error&) {  // of a device that is lost, which the next run tells of
  }
}

void ChoosingRows::finish() {
  try {
    session_.synchronize();
  } catch (const Error&) {  // of runs whose results are not needed
  }
}

void ChoosingRows::begin_choice(size_t row, std::span<const int32_t> tokens,
                                const GenerationOptions& options) {
  const bool plain = !has_biases(options) && options.repetition_penalty == 1;
  const size_t own = slots_[row];
  if (plain && plain_[own]) return;
  std::ranges::fill(bias_, 0.0F), std::ranges::fill(penalties_, 0.0F);
  add_biases(options, bias_);
  add_penalties(options, tokens, penalties_);
  const auto slot = static_cast<int32_t>(own);
  const InputTensor inputs[] = {port::slot.tensor({1}, &slot),
                                port::bias.tensor({1, vocabulary_}, bias_.data()),
                                port::penalties.tensor({1, vocabulary_}, penalties_.data())};
  session_.repeat(entry::begin_pages, inputs, 1);
  plain_[own] = plain;
}

/// Places are those of the request's own tokens; where the host chooses, the largest score is taken.
ChoosingRows::ChoiceInputs ChoosingRows::choice_inputs(std::span<const RowStep> steps) {
  static const Request kGreedy;
  ChoiceInputs inputs{.read = inputs_of(steps), .slots = {}, .choice = {}};
  for (const RowStep& step : steps) {
    const Request& request = step.request ? *step.request : kGreedy;
    const int64_t prompt = std::ssize(request.prompt);
    inputs.slots.push_back(static_cast<int32_t>(slots_[step.row]));
    inputs.choice.add({.read = prompt, .prompt_length = prompt, .index = static_cast<int64_t>(request.index)},
                      request.options);
  }
  return inputs;
}

void ChoosingRows::start(std::span<const RowStep> steps) {
  const ChoiceInputs inputs = choice_inputs(steps);
  session_.repeat(entry::next_pages, inputs.tensors(), 1);
}

std::span<const float> ChoosingRows::run(std::span<const RowStep> steps) {
  const ChoiceInputs inputs = choice_inputs(steps);
  return PageRows::run(entry::next_pages, inputs.tensors(), steps.size());
}

ChosenTokens::Token ChoosingRows::take(size_t slot, size_t place) {
  wait_for_result(session_, entry::next_pages, [&] { return chosen_.is_there(slot, place); });
  return chosen_.take(slot, place);
}

}  // namespace smelt
