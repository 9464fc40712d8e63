#include "runtime/serving/cache_rows.h"

#include <algorithm>
#include <numeric>

#include "runtime/error.h"

namespace smelt {
namespace {

constexpr const char *kDecode = "decode", *kReorder = "reorder", *kEncode = "encode";

void require_entries(const Session& session) {
  if (session.has_entry(kEncode))
    fail("the plan is an encoder-decoder's: only decoders are served; use generate");
  if (!session.has_entry(kDecode) || !session.has_entry(kReorder))
    fail(
        "the plan has no entries decode and reorder with caches: expected a decoder compiled with --mode "
        "infer and without --no-kv-cache");
}

}  // namespace

CacheRows::CacheRows(Session& session) : session_(session) {
  require_entries(session);
  const PlanEntry& entry = session.entry(kDecode);
  const Symbols& symbols = session.plan().symbols;
  vocabulary_ = *entry.outputs[0].shape[1].constant();
  slots_ = static_cast<size_t>(symbols.upper(entry.inputs[0].shape[0]));
  capacity_ = static_cast<size_t>(symbols.upper(entry.inputs[0].shape[1]));
}

std::span<const float> CacheRows::read(std::span<const int32_t> tokens, size_t past) {
  const auto begin = static_cast<int32_t>(past);
  return decode(tokens, {&begin, 1});
}

std::span<const float> CacheRows::read_one_each(std::span<const int32_t> tokens,
                                                std::span<const int32_t> past) {
  return decode(tokens, past);
}

std::span<const float> CacheRows::decode(std::span<const int32_t> tokens, std::span<const int32_t> past) {
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
void CacheRows::copy(size_t from, size_t to, size_t length) {
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
