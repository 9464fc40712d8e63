// RememberingModel: a fake model for tests of serving. Its cache stores token ids, and its logits are a hash
// of all ids in the cache of a row. So a row that reads the slot of another row, or a position that was not
// written, gets wrong tokens.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/plan/decode_contract.h"
#include "runtime/session/executor.h"
#include "runtime/session/session.h"

namespace smelt {

/// Size of the vocabulary.
constexpr int64_t kWords = 23;

/// Returns a plan with a cache of `slots` rows of `capacity` tokens. The entries have no steps, because the
/// executors below run them. `reads_source`: adds the entry "encode" of models with an encoder.
inline Plan remembering_plan(int64_t slots, int64_t capacity, bool reads_source = false) {
  Plan plan;
  plan.target = "test";
  plan.symbols.bound({"B"}, slots);
  plan.symbols.bound({"T"}, capacity);
  const Dim b = Dim::symbol("B"), t = Dim::symbol("T");
  const auto ints = [](const char* name, Shape shape) { return Port{name, DType::i32, std::move(shape)}; };
  Port lengths = ints("lengths", {b});
  lengths.optional = true, lengths.fill = -1;
  plan.entries = {{"decode",
                   {ints("input_ids", {b, t}), ints("past_length", {b}), lengths},
                   {{"logits", DType::f32, {b, kWords}, -1, false}},
                   {},
                   0},
                  {"reorder", {ints("from", {b}), ints("to", {b}), ints("places", {t})}, {}, {}, 0}};
  if (reads_source) plan.entries.push_back({"encode", {ints("input_ids", {b, t})}, {}, {}, 0});
  return plan;
}

/// Returns the same plan for a GPU as the target, because the lengths of runs are padded only on GPUs.
inline Plan padding_plan(int64_t slots, int64_t capacity) {
  Plan plan = remembering_plan(slots, capacity);
  plan.target = "sm_90";
  return plan;
}

/// Returns a plan with a cache of `pages` pages. Each row has a list of the numbers of its pages.
inline Plan remembering_pages_plan(int64_t slots, int64_t capacity, int64_t pages) {
  Plan plan;
  plan.target = "test";
  plan.symbols.bound({"B"}, slots);
  plan.symbols.bound({"T"}, capacity);
  const Dim b = Dim::symbol("B"), t = Dim::symbol("T");
  const auto ints = [](const char* name, Shape shape) { return Port{name, DType::i32, std::move(shape)}; };
  const auto entry = [&](const char* name, const Dim& rows, const Dim& tokens) {
    PlanEntry made{
        name, {ints("input_ids", {rows, tokens}), ints("pages", {rows, (capacity + 15) / 16})}, {}, {}, 0};
    made.inputs[1].ids = IdRange{.below = pages};
    made.inputs.push_back(ints("past_length", {rows}));
    if (name != std::string_view(entry::read_pages))
      made.outputs = {{"logits", DType::f32, {rows, kWords}, -1, false}};
    if (name == std::string_view(entry::step_pages)) return made;
    made.inputs.push_back(ints("lengths", {rows}));
    made.inputs.back().optional = true, made.inputs.back().fill = -1;
    return made;
  };
  plan.entries = {entry(entry::read_pages, 1, t), entry(entry::decode_pages, 1, t),
                  entry(entry::step_pages, b, 1)};
  return plan;
}

/// Returns the logits of the token after `tokens`: numbers in [0, 4) that are a hash of all tokens.
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

/// Base of executors whose next run can be made to throw.
class BreakingExecutor : public Executor {
 public:
  std::vector<std::pair<int64_t, int64_t>> shapes;  // (rows, tokens per row) of each run of the model
  bool breaks = false;                              // true: the next run throws Error

  std::span<std::byte> state(int) override { return {}; }

 protected:
  void break_if_asked() {
    if (std::exchange(breaks, false)) fail_with(Status::internal, "the device is gone");
  }
};

/// Executor of remembering_plan. The cache has one slot per row.
class RememberingExecutor : public BreakingExecutor {
 public:
  RememberingExecutor(int64_t slots, int64_t capacity)
      : cache_(static_cast<size_t>(slots), std::vector<int32_t>(static_cast<size_t>(capacity), -1)) {}
  size_t copies = 0;  // number of runs of the entry "reorder"

  void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox&) override {
    break_if_asked();
    const auto ints = [&](size_t i) { return static_cast<const int32_t*>(inputs[i]); };
    const auto b = static_cast<size_t>(symbols.at("B")), t = static_cast<size_t>(symbols.at("T"));
    if (entry.name == "reorder") return reorder(b, t, ints(0), ints(1));
    shapes.emplace_back(b, t);
    for (size_t row = 0; row < b; ++row) {
      const int32_t own = inputs.size() > 2 && inputs[2] ? ints(2)[row] : -1;
      const auto made =
          decode(row, {ints(0) + row * t, t}, ints(1)[row], own < 0 ? static_cast<int64_t>(t) : own);
      if (outputs[0]) std::ranges::copy(made, static_cast<float*>(outputs[0]) + row * made.size());
    }
  }

 protected:
  std::vector<std::vector<int32_t>> cache_;  // by slot

 private:
  void reorder(size_t rows, size_t length, const int32_t* from, const int32_t* to) {
    const std::vector<std::vector<int32_t>> old = cache_;
    for (size_t row = 0; row < rows; ++row)
      std::copy_n(old[static_cast<size_t>(from[row])].begin(), length,
                  cache_[static_cast<size_t>(to[row])].begin());
    ++copies;
  }
  std::vector<float> decode(size_t row, std::span<const int32_t> ids, int32_t past, int64_t own) {
    std::vector<int32_t>& held = cache_[row];
    if (past + ids.size() > held.size()) fail("row {} outgrows its {} places", row, held.size());
    std::ranges::copy(ids, held.begin() + past);
    return remembered_logits({held.begin(), held.begin() + past + own});
  }
};

/// Executor of remembering_pages_plan. A run writes the new tokens of each row to the pages of the row, and
/// reads all tokens of the row in the order of its list of pages.
class RememberingPages : public BreakingExecutor {
 public:
  explicit RememberingPages(int64_t pages) : cache_(static_cast<size_t>(pages * kPageTokens), -1) {}
  uint64_t prompt_tokens = 0;  // number of tokens, without padding, that entries for prompts have read

  void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox&) override {
    break_if_asked();
    const auto ints = [&](size_t i) { return static_cast<const int32_t*>(inputs[i]); };
    const bool is_step = entry.name == entry::step_pages;
    const auto extent = [&](const Dim& dim) { return static_cast<size_t>(dim.evaluate(symbols)); };
    const size_t rows = extent(entry.inputs[0].shape[0]), tokens = extent(entry.inputs[0].shape[1]),
                 width = extent(entry.inputs[1].shape[1]);
    shapes.emplace_back(rows, tokens);
    for (size_t row = 0; row < rows; ++row) {
      const auto own = is_step ? tokens : static_cast<size_t>(ints(3)[row]);
      if (!is_step) prompt_tokens += own;
      const auto made =
          read(ints(1) + row * width, static_cast<size_t>(ints(2)[row]), {ints(0) + row * tokens, own});
      if (!outputs.empty() && outputs[0])
        std::ranges::copy(made, static_cast<float*>(outputs[0]) + row * made.size());
    }
  }

 protected:
  /// Writes `tokens` to the cache after `past` positions, and returns the logits for all tokens of the row.
  std::vector<float> read(const int32_t* pages, size_t past, std::span<const int32_t> tokens) {
    std::vector<int32_t> all;
    const auto page = static_cast<size_t>(kPageTokens);
    for (size_t place = 0; place < past + tokens.size(); ++place) {
      int32_t& at = cache_[static_cast<size_t>(pages[place / page]) * page + place % page];
      if (place >= past) at = tokens[place - past];
      all.push_back(at);
    }
    return remembered_logits(all);
  }

 private:
  std::vector<int32_t> cache_;
};

/// A session with remembering_pages_plan, and its executor.
struct RememberingPagedModel {
  RememberingPagedModel(int64_t slots, int64_t capacity, int64_t pages) {
    auto made = std::make_unique<RememberingPages>(pages);
    executor = made.get();
    session = std::make_unique<Session>(
        std::make_shared<const Plan>(remembering_pages_plan(slots, capacity, pages)), std::move(made));
  }
  RememberingPages* executor;
  std::unique_ptr<Session> session;
};

/// A session with remembering_plan, and its executor.
struct RememberingModel {
  explicit RememberingModel(int64_t slots = 4, int64_t capacity = 48)
      : RememberingModel(remembering_plan(slots, capacity)) {}
  explicit RememberingModel(const Plan& plan) {
    const auto most = [&](const char* symbol) { return plan.symbols.upper(Dim::symbol(symbol)); };
    auto made = std::make_unique<RememberingExecutor>(most("B"), most("T"));
    executor = made.get();
    session = std::make_unique<Session>(std::make_shared<const Plan>(plan), std::move(made));
  }
  RememberingExecutor* executor;
  std::unique_ptr<Session> session;
};

}  // namespace smelt
