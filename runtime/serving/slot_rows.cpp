#include "runtime/serving/slot_rows.h"

#include <algorithm>
#include <numeric>

namespace smelt {
namespace {

constexpr const char *kDecode = "decode", *kReorder = "reorder";

}  // namespace

SlotRows::SlotRows(Session& session) : session_(session) {
  const PlanEntry& entry = session.entry(kDecode);
  const Symbols& symbols = session.plan().symbols;
  vocabulary_ = *entry.outputs[0].shape[1].constant();
  slots_ = static_cast<size_t>(symbols.upper(entry.inputs[0].shape[0]));
  capacity_ = static_cast<size_t>(symbols.upper(entry.inputs[0].shape[1]));
}

/// How a prompt is cut depends on its length alone.
CacheRows::Read SlotRows::read(std::span<const int32_t> prompt, size_t past, size_t chunk) {
  const auto tokens = prompt.subspan(past, std::min(prompt.size() - past, chunk));
  const auto begin = static_cast<int32_t>(past);
  const std::span<const float> logits = decode(tokens, {&begin, 1});
  read_ = past + tokens.size();
  return {tokens.size(), past + tokens.size() == prompt.size() ? logits : std::span<const float>{}};
}

size_t SlotRows::begin(std::span<const int32_t> /*prompt*/, size_t /*tokens*/) { return read_ = 0; }

/// Where row 0 still reads its prompt, the next chunk takes the place of the token that it is given here.
std::span<const float> SlotRows::run(std::span<const RowStep> steps) {
  const size_t first = steps[0].row;
  std::vector<int32_t> tokens(first, 0), past(first, static_cast<int32_t>(read_));
  for (const RowStep& step : steps) {
    tokens.push_back(step.token);
    past.push_back(static_cast<int32_t>(step.past));
  }
  return decode(tokens, past).subspan(first * static_cast<size_t>(vocabulary_));
}

std::span<const float> SlotRows::decode(std::span<const int32_t> tokens, std::span<const int32_t> past) {
  const auto rows = static_cast<int64_t>(past.size());
  const InputTensor inputs[] = {
      {"input_ids", DType::i32, {rows, static_cast<int64_t>(tokens.size()) / rows}, tokens.data()},
      {"past_length", DType::i32, {rows}, past.data()}};
  logits_.resize(static_cast<size_t>(rows * vocabulary_));
  const OutputBuffer output{"logits", logits_.data(), static_cast<int64_t>(logits_.size() * sizeof(float))};
  session_.run(kDecode, inputs, {&output, 1});
  return logits_;
}

/// Lengths are rounded up: each that is new is a run of new sizes.
void SlotRows::move(size_t from, size_t to, size_t length) {
  constexpr size_t kStep = 64;
  if (length == 0) return;
  std::vector<int32_t> places(std::min(capacity_, (length + kStep - 1) / kStep * kStep));
  std::iota(places.begin(), places.end(), 0);
  const auto source = static_cast<int32_t>(from), target = static_cast<int32_t>(to);
  const InputTensor inputs[] = {{"from", DType::i32, {1}, &source},
                                {"to", DType::i32, {1}, &target},
                                {"places", DType::i32, {static_cast<int64_t>(places.size())}, places.data()}};
  session_.run(kReorder, inputs, {});
}

}  // namespace smelt
