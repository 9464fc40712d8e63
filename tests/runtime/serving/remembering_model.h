// A model whose next token depends on everything that its cache holds of a row: a row that reads another's
// slot, or a place that was not written, gets other tokens.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/error.h"
#include "runtime/executor.h"
#include "runtime/session.h"

namespace smelt {

constexpr int64_t kWords = 23;

inline Plan remembering_plan(int64_t slots, int64_t capacity, bool reads_source = false) {
  Plan plan;
  plan.target = "test";
  plan.symbols.bound({"B"}, slots);
  plan.symbols.bound({"T"}, capacity);
  const Dim b = Dim::symbol("B"), t = Dim::symbol("T");
  const auto ints = [](const char* name, Shape shape) { return Port{name, DType::i32, std::move(shape)}; };
  plan.entries = {{"decode",
                   {ints("input_ids", {b, t}), ints("past_length", {b})},
                   {{"logits", DType::f32, {b, kWords}, -1, false}},
                   {},
                   0},
                  {"reorder", {ints("from", {b}), ints("to", {b}), ints("places", {t})}, {}, {}, 0}};
  if (reads_source) plan.entries.push_back({"encode", {ints("input_ids", {b, t})}, {}, {}, 0});
  return plan;
}

/// The logits behind these tokens.
inline std::vector<float> remembered_logits(const std::vector<int32_t>& tokens) {
  uint64_t state = 88172645463325252ULL;
  for (const int32_t token : tokens) state = (state ^ static_cast<uint64_t>(token + 1)) * 1099511628211ULL;
  std::vector<float> logits;
  for (int64_t i = 0; i < kWords; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    logits.push_back(static_cast<float>(state % 1000) / 250.0F);
  }
  return logits;
}

class RememberingExecutor : public Executor {
 public:
  RememberingExecutor(int64_t slots, int64_t capacity)
      : cache_(static_cast<size_t>(slots), std::vector<int32_t>(static_cast<size_t>(capacity), -1)) {}
  std::vector<std::pair<int64_t, int64_t>> shapes;  // B, T of each run of decode
  size_t copies = 0;                                // runs of reorder
  bool breaks = false;                              // the next run throws

  std::span<std::byte> state(int) override { return {}; }
  void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox&) override {
    if (std::exchange(breaks, false)) fail_with(Status::internal, "the device is gone");
    const auto* first = static_cast<const int32_t*>(inputs[0]);
    const auto* second = static_cast<const int32_t*>(inputs[1]);
    const auto t = static_cast<size_t>(symbols.at("T"));
    if (entry.name == "reorder")
      ++copies, std::copy_n(at(first[0]).begin(), t, at(second[0]).begin());
    else
      decode(static_cast<size_t>(symbols.at("B")), t, first, second, static_cast<float*>(outputs[0]));
  }

 private:
  std::vector<int32_t>& at(int32_t slot) { return cache_[static_cast<size_t>(slot)]; }
  void decode(size_t b, size_t t, const int32_t* ids, const int32_t* past, float* logits) {
    shapes.emplace_back(b, t);
    for (size_t row = 0; row < b; ++row) {
      std::copy_n(ids + row * t, t, cache_[row].begin() + past[row]);
      const auto made =
          remembered_logits({cache_[row].begin(), cache_[row].begin() + past[row] + static_cast<int64_t>(t)});
      std::ranges::copy(made, logits + row * made.size());
    }
  }
  std::vector<std::vector<int32_t>> cache_;
};

struct RememberingModel {
  explicit RememberingModel(int64_t slots = 4, int64_t capacity = 48) {
    auto made = std::make_unique<RememberingExecutor>(slots, capacity);
    executor = made.get();
    session = std::make_unique<Session>(std::make_shared<const Plan>(remembering_plan(slots, capacity)),
                                        std::move(made));
  }
  RememberingExecutor* executor;
  std::unique_ptr<Session> session;
};

}  // namespace smelt
