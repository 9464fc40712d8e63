#include "runtime/engine/serving/slot_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/engine/generation/prompt_lengths.h"
#include "runtime/engine/serving/cleared_caches.h"
#include "runtime/plan/device_kind.h"

namespace smelt {

SlotRows::SlotRows(Session& session, const DecodeInterface& decode)
    : CacheRows(decode),
      session_(session),
      bounds_(session.plan(), decode),
      ids_(decode.reads_source ? port::decoder_input_ids : port::input_ids),
      has_beams_(session.has_entry(entry::decode_beams)),
      pads_(device_kind(session.plan().target).captures_runs),
      places_(slots_, capacity_),
      held_(slots_),
      adapters_(slots_, -1),
      candidates_(vocabulary_) {}

/// Reads a chunk. The division of a prompt depends on its length and `chunk` alone.
CacheRows::Read SlotRows::read(std::span<const int32_t> prompt, size_t past, size_t chunk) {
  const auto tokens = prompt.subspan(past, std::min({prompt.size() - past, chunk, bounds_.longest_run(1)}));
  const std::span<const float> logits = read_run(tokens, past);
  held_[0] = past + tokens.size();
  return {tokens.size(), past + tokens.size() == prompt.size() ? logits : std::span<const float>{}};
}

size_t SlotRows::begin(size_t row, std::span<const int32_t> /*prompt*/, size_t /*tokens*/, size_t /*rows*/,
                       RowAdapter adapter) {
  end(row);
  adapters_[row] = adapter.slot;
  return 0;
}

void SlotRows::clear(size_t row, size_t /*begin*/) { clear_caches(session_, CacheKind::tokens, row, 1); }

void SlotRows::end(size_t row) {
  held_[row] = 0, adapters_[row] = -1;
  places_.reset(row);
}

void SlotRows::forget() {
  for (size_t row = 0; row < slots_; ++row) end(row);
}

/// Adds the adapters of the first rows, as many as the run has.
void SlotRows::add_adapters(std::vector<InputTensor>& inputs) const {
  if (has_adapters_) inputs.push_back(port::adapters.tensor({inputs[0].shape[0]}, adapters_.data()));
}

/// Rows that are missing, and padding, read a token, too. It is written after the tokens that the row's slot
/// has, where no row reads it, and the row's own next token overwrites it.
std::span<const float> SlotRows::run(std::span<const RowStep> steps) {
  const size_t rows = with_padding(steps.back().row + 1);
  std::vector<int32_t> tokens(rows, 0), past;
  for (size_t row = 0; row < rows; ++row)
    past.push_back(static_cast<int32_t>(std::min(held_[row], capacity_ - 1)));
  for (const RowStep& step : steps) {
    tokens[step.row] = step.tokens[0];
    past[step.row] = static_cast<int32_t>(step.past);
    held_[step.row] = step.past + 1;
  }
  const auto count = static_cast<int64_t>(rows);
  std::vector<InputTensor> inputs = {ids_.tensor({count, 1}, tokens.data()),
                                     port::past_length.tensor({count}, past.data())};
  add_adapters(inputs);
  if (places_.share() || std::ranges::count(steps, Sampling::candidates, &RowStep::sampling) > 0)
    decode_beams(std::move(inputs), steps);
  else
    decode(inputs);
  return logits_of(steps);
}

void SlotRows::decode_beams(std::vector<InputTensor> inputs, std::span<const RowStep> steps) {
  const int64_t rows = inputs[0].shape[0];
  inputs.push_back(port::place_rows.tensor({rows, static_cast<int64_t>(capacity_)},
                                           places_.first(static_cast<size_t>(rows)).data()));
  candidate_rows_.clear();
  for (const RowStep& step : steps)
    if (step.sampling == Sampling::candidates) candidate_rows_.push_back(step.row);
  std::vector<OutputBuffer> outputs = candidates_.buffers(static_cast<size_t>(rows));
  if (candidate_rows_.size() < steps.size()) {
    logits_.resize(static_cast<size_t>(rows * vocabulary_));
    outputs.push_back(port::logits.buffer(logits_));
  }
  session_.run(entry::decode_beams, inputs, outputs);
}

/// Returns the logits of the rows that have no candidates, one after the other.
std::span<const float> SlotRows::logits_of(std::span<const RowStep> steps) {
  const auto words = static_cast<size_t>(vocabulary_);
  const auto wants = [](const RowStep& step) { return step.sampling != Sampling::candidates; };
  const auto begin = std::ranges::find_if(steps, wants);
  if (begin == steps.end()) return {};
  const std::span<float> all = std::span(logits_).subspan(begin->row * words);
  size_t count = 0;
  for (const RowStep& step : steps) {
    if (!wants(step)) continue;
    const size_t from = step.row - begin->row;
    if (from != count) std::ranges::copy(all.subspan(from * words, words), all.data() + count * words);
    ++count;
  }
  return all.first(count * words);
}

/// Reads tokens of row 0. Padding is written to positions that the next tokens overwrite.
std::span<const float> SlotRows::read_run(std::span<const int32_t> tokens, size_t past) {
  std::vector<int32_t> padded(tokens.begin(), tokens.end());
  padded.resize(std::min(bounds_.run_length(tokens.size(), 1), capacity_ - past), 0);
  const auto before = static_cast<int32_t>(past), own = static_cast<int32_t>(tokens.size());
  std::vector<InputTensor> inputs = {ids_.tensor({1, std::ssize(padded)}, padded.data()),
                                     port::past_length.tensor({1}, &before)};
  add_adapters(inputs);
  if (padded.size() > tokens.size()) inputs.push_back(port::lengths.tensor({1}, &own));
  return decode(inputs);
}

std::span<const float> SlotRows::decode(std::span<const InputTensor> inputs) {
  logits_.resize(static_cast<size_t>(inputs[0].shape[0] * vocabulary_));
  const OutputBuffer output = port::logits.buffer(logits_);
  session_.run(entry::decode, inputs, {&output, 1});
  return logits_;
}

size_t SlotRows::with_padding(size_t rows) const { return pads_ ? padded_size(rows, slots_) : rows; }

/// Lengths are rounded up, and the last copy is repeated, because each new pair of sizes is captured anew.
void SlotRows::copy_rows(const char* entry, std::vector<int32_t> from, std::vector<int32_t> to, size_t length,
                         size_t capacity) {
  if (length == 0 || from.empty()) return;
  constexpr size_t kStep = 64;
  std::vector<int32_t> places(std::min(capacity, (length + kStep - 1) / kStep * kStep));
  std::iota(places.begin(), places.end(), 0);
  const size_t count = with_padding(from.size());
  from.resize(count, from.back()), to.resize(count, to.back());
  const InputTensor inputs[] = {port::from.tensor({std::ssize(from)}, from.data()),
                                port::to.tensor({std::ssize(to)}, to.data()),
                                port::places.tensor({std::ssize(places)}, places.data())};
  session_.run(entry, inputs, {});
}

void SlotRows::copy(std::span<const RowCopy> copies) {
  std::vector<int32_t> from, to;
  size_t longest = 0;
  for (const RowCopy& each : copies) {
    from.push_back(static_cast<int32_t>(each.from)), to.push_back(static_cast<int32_t>(each.to));
    longest = std::max(longest, each.length), held_[each.to] = each.length;
    adapters_[each.to] = adapters_[each.from];
    if (has_beams_) places_.copy(each.from, each.to, each.length);
  }
  if (!has_beams_) copy_rows(entry::reorder, std::move(from), std::move(to), longest, capacity_);
}

void SlotRows::move(std::span<const RowMove> moves) {
  std::vector<int32_t> from, to;
  size_t longest = 0;
  for (const RowMove& each : moves) {
    from.push_back(static_cast<int32_t>(each.from)), to.push_back(static_cast<int32_t>(each.to));
    longest = std::max(longest, each.length), held_[each.to] = std::exchange(held_[each.from], 0);
    adapters_[each.to] = std::exchange(adapters_[each.from], -1);
  }
  copy_rows(entry::reorder, std::move(from), std::move(to), longest, capacity_);
  places_.move(moves);
}

}  // namespace smelt
