#include "runtime/engine/serving/slot_rows.h"

#include <algorithm>
#include <numeric>

#include "runtime/engine/generation/prompt_lengths.h"

namespace smelt {

SlotRows::SlotRows(Session& session, const DecodeInterface& decode)
    : CacheRows(decode),
      session_(session),
      bounds_(session.plan(), decode),
      ids_(decode.reads_source ? port::decoder_input_ids : port::input_ids) {}

/// Reads a chunk. The division of a prompt depends on its length and `chunk` alone.
CacheRows::Read SlotRows::read(std::span<const int32_t> prompt, size_t past, size_t chunk) {
  const auto tokens = prompt.subspan(past, std::min({prompt.size() - past, chunk, bounds_.longest_run(1)}));
  const std::span<const float> logits = read_run(tokens, past);
  read_ = past + tokens.size();
  return {tokens.size(), past + tokens.size() == prompt.size() ? logits : std::span<const float>{}};
}

size_t SlotRows::begin(size_t /*row*/, std::span<const int32_t> /*prompt*/, size_t /*tokens*/,
                       size_t /*rows*/) {
  return read_ = 0;
}

/// Rows that are missing read a token, too. In row 0, the next chunk of its prompt overwrites it.
std::span<const float> SlotRows::run(std::span<const RowStep> steps) {
  std::vector<int32_t> tokens(steps.back().row + 1, 0), past(tokens.size(), 0);
  past[0] = static_cast<int32_t>(std::min(read_, capacity_ - 1));
  for (const RowStep& step : steps) {
    tokens[step.row] = step.tokens[0];
    past[step.row] = static_cast<int32_t>(step.past);
  }
  const auto rows = std::ssize(past);
  const InputTensor inputs[] = {ids_.tensor({rows, 1}, tokens.data()),
                                port::past_length.tensor({rows}, past.data())};
  decode(inputs);
  return logits_of(steps);
}

/// Returns the logits of these rows, one after the other.
std::span<const float> SlotRows::logits_of(std::span<const RowStep> steps) {
  const auto words = static_cast<ptrdiff_t>(vocabulary_);
  const auto first = logits_.begin() + static_cast<ptrdiff_t>(steps[0].row) * words;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto at = static_cast<ptrdiff_t>(i), from = static_cast<ptrdiff_t>(steps[i].row - steps[0].row);
    if (from != at) std::copy_n(first + from * words, words, first + at * words);
  }
  return {first, static_cast<size_t>(words) * steps.size()};
}

/// Reads tokens of row 0. Padding is written to positions that the next tokens overwrite.
std::span<const float> SlotRows::read_run(std::span<const int32_t> tokens, size_t past) {
  std::vector<int32_t> padded(tokens.begin(), tokens.end());
  padded.resize(std::min(bounds_.run_length(tokens.size(), 1), capacity_ - past), 0);
  const auto before = static_cast<int32_t>(past), own = static_cast<int32_t>(tokens.size());
  std::vector<InputTensor> inputs = {ids_.tensor({1, std::ssize(padded)}, padded.data()),
                                     port::past_length.tensor({1}, &before)};
  if (padded.size() > tokens.size()) inputs.push_back(port::lengths.tensor({1}, &own));
  return decode(inputs);
}

std::span<const float> SlotRows::decode(std::span<const InputTensor> inputs) {
  logits_.resize(static_cast<size_t>(inputs[0].shape[0] * vocabulary_));
  const OutputBuffer output = port::logits.buffer(logits_);
  session_.run(entry::decode, inputs, {&output, 1});
  return logits_;
}

void SlotRows::copy_rows(const char* entry, std::span<const int32_t> from, std::span<const int32_t> to,
                         size_t places) {
  std::vector<int32_t> all(places);
  std::iota(all.begin(), all.end(), 0);
  const InputTensor inputs[] = {port::from.tensor({std::ssize(from)}, from.data()),
                                port::to.tensor({std::ssize(to)}, to.data()),
                                port::places.tensor({std::ssize(all)}, all.data())};
  session_.run(entry, inputs, {});
}

/// Lengths are rounded up: each that is new is a run of new sizes.
void SlotRows::copy_tokens(std::span<const int32_t> from, std::span<const int32_t> to, size_t length) {
  constexpr size_t kStep = 64;
  if (length == 0 || from.empty()) return;
  copy_rows(entry::reorder, from, to, std::min(capacity_, (length + kStep - 1) / kStep * kStep));
}

void SlotRows::copy(std::span<const RowCopy> copies, size_t length) {
  std::vector<int32_t> from, to;
  for (const RowCopy& each : copies)
    from.push_back(static_cast<int32_t>(each.from)), to.push_back(static_cast<int32_t>(each.to));
  copy_tokens(from, to, length);
}

void SlotRows::move(size_t from, size_t to, size_t length) {
  const auto source = static_cast<int32_t>(from), target = static_cast<int32_t>(to);
  copy_tokens({&source, 1}, {&target, 1}, length);
}

}  // namespace smelt
