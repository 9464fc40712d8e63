// EncodingModel: a fake encoder for tests of TextBatch. The state of a token is its place and a hash of all
// unmasked tokens and types of its row, so that a text whose row is wrong gets a wrong vector.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/session/session.h"
#include "tests/runtime/engine/serving/remembering_model.h"

namespace smelt {

/// Size of the states.
constexpr int64_t kStateSize = 2;

/// Returns the hash of the tokens and types of a text.
inline float encoded_text(const std::vector<int32_t>& ids, const std::vector<int32_t>& types) {
  uint32_t hash = 2166136261U;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto type = i < types.size() ? types[i] : 0;
    hash = (hash ^ static_cast<uint32_t>(ids[i] * 2 + type + 1)) * 16777619U;
  }
  return static_cast<float>(hash % 65536);
}

struct EncodingOptions {
  const char* target = "test";
  bool has_mask = true, classifies = false;
  int64_t rows = 8, length = 64, tokens = 128;  // bounds of B, T and B*T
};

/// Returns a plan with the entry "logits", which reads texts.
inline Plan encoding_plan(const EncodingOptions& options) {
  Plan plan;
  plan.target = options.target;
  plan.symbols.bound({"B"}, options.rows);
  plan.symbols.bound({"T"}, options.length);
  plan.symbols.bound({"B", "T"}, options.tokens);
  const Dim b = Dim::symbol("B"), t = Dim::symbol("T");
  PlanEntry entry{.name = "logits"};
  entry.inputs.push_back({.name = "input_ids", .dtype = DType::i32, .shape = {b, t}});
  entry.inputs.back().ids = IdRange{.below = kWords};
  if (options.has_mask)
    entry.inputs.push_back(
        {.name = "attention_mask", .dtype = DType::i32, .shape = {b, t}, .optional = true, .fill = 1});
  entry.inputs.push_back({.name = "token_type_ids", .dtype = DType::i32, .shape = {b, t}, .optional = true});
  entry.inputs.back().ids = IdRange{.below = 2};
  if (options.classifies)
    entry.outputs.push_back({.name = "logits", .shape = {b, kStateSize}});
  else
    entry.outputs.push_back({.name = "last_hidden_state", .shape = {b, t, kStateSize}});
  plan.entries.push_back(std::move(entry));
  return plan;
}

/// Executor of encoding_plan.
class EncodingExecutor : public BreakingExecutor {
 public:
  explicit EncodingExecutor(const EncodingOptions& options) : options_(options) {}

  void run(const PlanEntry&, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox&) override {
    break_if_asked();
    const auto rows = static_cast<size_t>(symbols.at("B")), length = static_cast<size_t>(symbols.at("T"));
    shapes.emplace_back(rows, length);
    for (size_t row = 0; row < rows; ++row) {
      const auto text = [&](size_t i) {
        const auto* begin = static_cast<const int32_t*>(inputs[i]) + row * length;
        return std::vector<int32_t>(begin, begin + length);
      };
      std::vector<int32_t> ids = text(0), types = text(inputs.size() - 1);
      if (options_.has_mask) mask(text(1), ids, types);
      write(static_cast<float*>(outputs[0]), row, length, encoded_text(ids, types));
    }
  }

 private:
  static void mask(const std::vector<int32_t>& mask, std::vector<int32_t>& ids, std::vector<int32_t>& types) {
    size_t kept = 0;
    for (size_t i = 0; i < mask.size(); ++i)
      if (mask[i] != 0) ids[kept] = ids[i], types[kept++] = types[i];
    ids.resize(kept), types.resize(kept);
  }
  void write(float* out, size_t row, size_t length, float hash) const {
    const size_t count = options_.classifies ? 1 : length;
    for (size_t token = 0; token < count; ++token) {
      out[(row * count + token) * kStateSize] = static_cast<float>(token);
      out[(row * count + token) * kStateSize + 1] = hash;
    }
  }
  EncodingOptions options_;
};

/// A session with encoding_plan, and its executor.
struct EncodingModel {
  explicit EncodingModel(const EncodingOptions& options = {}) {
    auto made = std::make_unique<EncodingExecutor>(options);
    executor = made.get();
    session =
        std::make_unique<Session>(std::make_shared<const Plan>(encoding_plan(options)), std::move(made));
  }
  EncodingExecutor* executor;
  std::unique_ptr<Session> session;
};

}  // namespace smelt
