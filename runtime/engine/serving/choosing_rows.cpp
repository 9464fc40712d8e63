#include "runtime/engine/serving/choosing_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/engine/generation/loop_choice.h"
#include "runtime/engine/generation/loop_inputs.h"
#include "runtime/engine/generation/prompt_lengths.h"
#include "runtime/engine/generation/run_ahead.h"

namespace smelt {

std::string ChoosingRows::refuses(const Request& request) const {
  if (request.log_probabilities.value_or(0) > 0) return "the most probable tokens beside each new one";
  if (request.prompt_log_probabilities) return "log-probabilities of the prompt";
  if (request.constrained && !samples_allowed_) return "a specification of the text";
  return plain_choice_refuses(request.options);
}

ChoosingRows::ChoosingRows(Session& session, const DecodeInterface& decode, bool shares_prefixes)
    : ChoosingRows(session, decode, shares_prefixes, entry::next_pages) {}

/// The states may hold stale data from an earlier user of the session.
ChoosingRows::ChoosingRows(Session& session, const DecodeInterface& decode, bool shares_prefixes,
                           const char* entry)
    : PageRows(session, decode, shares_prefixes),
      entry_(entry),
      chosen_(session, decode),
      slots_(slots()),
      plain_(slots()),
      bias_(static_cast<size_t>(vocabulary())),
      penalties_(bias_.size()),
      samples_allowed_(decode.samplers.allowed_tokens),
      has_beams_(session.has_entry(entry::beam_pages)),
      candidates_(vocabulary()) {
  std::iota(slots_.begin(), slots_.end(), size_t{0});
  chosen_.forget_all();
}

void ChoosingRows::move(std::span<const RowMove> moves) {
  PageRows::move(moves);
  for (const RowMove& each : moves) std::swap(slots_[each.from], slots_[each.to]);
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

void ChoosingRows::RunInputs::add(const DecodePort& port, std::vector<int64_t> sizes,
                                  std::vector<int32_t> values) {
  tensors.push_back(port.tensor(std::move(sizes), values_.emplace_back(std::move(values)).data()));
}

size_t ChoosingRows::add_tokens(RunInputs& inputs, std::span<const RowStep> steps) {
  StepInputs read = inputs_of(steps);
  const auto rows = std::ssize(steps), width = static_cast<int64_t>(row_pages());
  inputs.add(port::input_ids, {rows, 1}, std::move(read.tokens));
  inputs.add(port::pages, {rows, width}, std::move(read.pages));
  inputs.add(port::past_length, {rows}, std::move(read.past));
  if (has_adapters_) inputs.add(port::adapters, {rows}, std::move(read.adapters));
  return steps.size();
}

/// Places are those of the request's own tokens.
void ChoosingRows::RunInputs::add_settings(const Request& request) {
  const int64_t prompt = std::ssize(request.prompt);
  sampler.add({.read = prompt, .prompt_length = prompt, .index = static_cast<int64_t>(request.index)},
              request.options);
}

/// If the host samples, the largest score is taken.
ChoosingRows::RunInputs ChoosingRows::inputs_for(std::span<const RowStep> steps) {
  static const Request kGreedy;
  RunInputs inputs;
  std::vector<int32_t> slots(add_tokens(inputs, steps), -1), logits_slots(slots.size(), -1);
  for (size_t row = 0; row < slots.size(); ++row) {
    const Sampling sampling = row < steps.size() ? steps[row].sampling : Sampling::none;
    if (row < steps.size()) slots[row] = slot_of(steps[row], steps);
    if (sampling == Sampling::allowed) logits_slots[row] = static_cast<int32_t>(slots_[steps[row].row]);
    inputs.add_settings(sampling == Sampling::plan ? *steps[row].request : kGreedy);
  }
  for (InputTensor& input : inputs.sampler.tensors()) inputs.tensors.push_back(std::move(input));
  const auto rows = std::ssize(slots);
  if (samples_allowed_) inputs.add(port::logits_slots, {rows}, std::move(logits_slots));
  inputs.add(port::slots, {rows}, std::move(slots));
  return inputs;
}

/// Rows of padding have no slot.
void ChoosingRows::sample_allowed(std::span<const AllowedRow> rows) {
  static const Request kGreedy;
  const size_t count = pads_runs() ? padded_size(rows.size(), slots()) : rows.size();
  const size_t words = (bias_.size() + 31) / 32;
  std::vector<int32_t> slots(count, -1), pasts(count, 0);
  std::vector<uint32_t> allowed(count * words);
  RunInputs inputs;
  for (size_t row = 0; row < count; ++row)
    inputs.add_settings(row < rows.size() ? *rows[row].request : kGreedy);
  for (size_t row = 0; row < rows.size(); ++row) {
    slots[row] = static_cast<int32_t>(rows[row].slot), pasts[row] = static_cast<int32_t>(rows[row].place) - 1;
    std::ranges::copy(rows[row].tokens, allowed.begin() + static_cast<ptrdiff_t>(row * words));
  }
  for (InputTensor& input : inputs.sampler.tensors()) inputs.tensors.push_back(std::move(input));
  const auto size = static_cast<int64_t>(count);
  inputs.add(port::slots, {size}, std::move(slots));
  inputs.add(port::past_length, {size}, std::move(pasts));
  inputs.tensors.push_back(port::allowed.tensor({size, static_cast<int64_t>(words * 4)}, allowed.data()));
  session_.repeat(entry::sample_allowed, inputs.tensors, 1);
}

void ChoosingRows::start(std::span<const RowStep> steps) {
  const RunInputs inputs = inputs_for(steps);
  session_.repeat(entry_for(steps), inputs.tensors, 1);
}

std::span<const float> ChoosingRows::run(std::span<const RowStep> steps) {
  std::vector<RowStep> beams, others;
  for (const RowStep& step : steps) (step.sampling == Sampling::candidates ? beams : others).push_back(step);
  const std::span<const float> logits = run_others(others);
  if (!beams.empty()) run_beams(beams);
  return logits;
}

/// Rows of padding have no slot.
void ChoosingRows::run_beams(std::span<const RowStep> steps) {
  StepInputs read = inputs_of(steps);
  const size_t rows = pads_runs() ? padded_size(steps.size(), slots()) : steps.size();
  std::vector<int32_t> slots(rows, -1);
  for (size_t i = 0; i < steps.size(); ++i) slots[i] = static_cast<int32_t>(slots_[steps[i].row]);
  read.tokens.resize(rows, 0), read.pages.resize(rows * row_pages(), 0), read.past.resize(rows, 0);
  if (has_adapters_) read.adapters.resize(rows, -1);
  std::vector<InputTensor> inputs = read.tensors();
  inputs.push_back(port::slots.tensor({static_cast<int64_t>(rows)}, slots.data()));
  session_.run(entry::beam_pages, inputs, candidates_.buffers(rows));
}

/// The logits of padding come last.
std::span<const float> ChoosingRows::run_others(std::span<const RowStep> steps) {
  if (std::ranges::count(steps, Sampling::host, &RowStep::sampling) == 0) {
    if (!steps.empty()) start(steps);
    return {};
  }
  const RunInputs inputs = inputs_for(steps);
  const auto rows = static_cast<size_t>(inputs.tensors.back().shape[0]);
  return PageRows::run(entry_for(steps), inputs.tensors, rows)
      .first(steps.size() * static_cast<size_t>(vocabulary_));
}

ChosenTokens::Token ChoosingRows::take(size_t slot, size_t place) {
  wait_for_result(session_, entry_, [&] { return chosen_.is_there(slot, place); });
  return chosen_.take(slot, place);
}

}  // namespace smelt
