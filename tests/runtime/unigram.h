// A tiny language model for tests of session, trainer and generator without compiled kernels. Its parameters
// are one logit per token of the vocabulary. They are trained by gradient descent with momentum to match the
// frequencies of the tokens. Noise from Philox is added to the gradients in place of dropout. The executor is
// a few loops in C++.
#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/session/executor.h"
#include "runtime/session/session.h"

namespace smelt {

/// Returns a plan with the entries and states of a language model. The entries have no steps, because
/// UnigramExecutor runs them.
inline Plan unigram_plan(int64_t vocabulary, int64_t max_batch = 4, int64_t max_length = 64) {
  Plan plan;
  plan.target = "test";
  plan.symbols.bound({"B"}, max_batch);
  plan.symbols.bound({"T"}, max_length);
  const Segment logits{.name = "logits",
                       .shape = {vocabulary},
                       .offset = 0,
                       .init = {},
                       .decay = true,
                       .checkpoint_names = {"head.bias", "bias"},
                       .transposed = false};
  const auto state = [&](const char* name, Role role, Shape shape) {
    plan.states.push_back(
        {.name = name, .role = role, .dtype = DType::f32, .shape = shape, .init = {}, .segments = {}});
  };
  state("parameters", Role::parameter, {vocabulary});
  plan.states[0].segments = {logits};
  state("momentum", Role::optimizer, {vocabulary});
  state("gradients", Role::gradient, {vocabulary});
  state("step", Role::state, {});
  state("learning_rate", Role::state, {});
  state("loss_sum", Role::state, {});
  state("token_count", Role::state, {});
  state("largest_gradient_norm", Role::state, {});

  const Dim b = Dim::symbol("B"), t = Dim::symbol("T");
  const Port ids{"input_ids", DType::i32, {b, t}, -1, false, IdRange{vocabulary}},
      labels{"labels", DType::i32, {b, t}, -1, false, IdRange{vocabulary, -100}};
  const auto scalar = [](const char* name) { return Port{name, DType::f32, {}, -1, false}; };
  plan.entries = {
      {"train_step", {ids, labels}, {scalar("loss"), scalar("token_count"), scalar("gradient_norm")}, {}, 0},
      {"accumulate", {ids, labels}, {scalar("loss_sum"), scalar("token_count")}, {}, 0},
      {"apply", {}, {scalar("loss"), scalar("token_count"), scalar("gradient_norm")}, {}, 0},
      {"evaluate", {ids, labels}, {scalar("loss_sum"), scalar("token_count")}, {}, 0},
      {"logits", {ids}, {{"logits", DType::f32, {b, t, vocabulary}, -1, false}}, {}, 0}};
  return plan;
}

class UnigramExecutor : public Executor {
 public:
  /// `ranks`: the rank groups if several ranks along the first axis of the mesh train the model, each with
  /// its own batches; else null.
  explicit UnigramExecutor(const Plan& plan, RankGroups* ranks = nullptr) : plan_(plan), ranks_(ranks) {
    for (const State& s : plan.states) memory_.emplace_back(plan.symbols.upper(element_count(s.shape)));
  }
  std::optional<int> nan_at_step;            // in the update with this number (from 0) the loss is NaN
  std::optional<int> infinite_norm_at_step;  // in this update the gradient norm is infinite
  int large_norms = 1;                       // updates from large_norm_at_step on
  std::optional<int> large_norm_at_step;     // in this update the gradient norm is 100 times as large
  std::optional<int> anomaly_at_step;        // this update throws Error (numeric)
  std::string made_choices;                  // result of choices(), as if GEMM algorithms had been measured

  RankGroups* ranks() const override { return ranks_; }
  std::string choices() const override { return made_choices; }
  std::string restore_choices(std::string_view choices) override {
    if (made_choices.empty()) return Executor::restore_choices(choices);
    made_choices = choices;
    return {};
  }
  std::span<std::byte> state(int index) override {
    auto& values = memory_[static_cast<size_t>(index)];
    const size_t bytes =
        values.size() * static_cast<size_t>(size_of(plan_.states[static_cast<size_t>(index)].dtype));
    return std::as_writable_bytes(std::span(values)).first(bytes);
  }

  void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox& random) override {
    if (entry.name == "apply") return apply(outputs);
    const auto* ids = static_cast<const int32_t*>(inputs[0]);
    const int64_t count = symbols.at("B") * symbols.at("T");
    if (entry.name == "logits") return logits(count, outputs);
    const bool trains = entry.name != "evaluate";
    Philox own = random;
    if (ranks_) own.micro_step = own.micro_step * size() + (static_cast<uint32_t>(group().rank()) << 16);
    if (trains && anomaly_at_step && values("step")[0] == static_cast<float>(*anomaly_at_step))
      fail_with(Status::numeric, "a value is not finite");
    const auto [loss, tokens] = add_gradient(ids, count, trains, own);
    if (entry.name == "train_step") return apply(outputs);
    put(outputs, 0, loss), put(outputs, 1, tokens);
  }

 private:
  std::vector<float>& values(const char* name) {
    for (size_t i = 0; i < plan_.states.size(); ++i)
      if (plan_.states[i].name == name) return memory_[i];
    throw std::out_of_range(name);
  }
  static void put(std::span<void* const> outputs, size_t i, float value) {
    if (outputs[i]) std::memcpy(outputs[i], &value, sizeof value);
  }

  bool has_large_norm(int update) const {
    return large_norm_at_step && update >= *large_norm_at_step && update < *large_norm_at_step + large_norms;
  }

  std::vector<float> probabilities() {
    std::vector<float> p = values("parameters");
    float sum = 0;
    for (float& x : p) sum += x = std::exp(x);
    for (float& x : p) x /= sum;
    return p;
  }

  std::pair<float, float> add_gradient(const int32_t* ids, int64_t count, bool trains, const Philox& random) {
    const auto p = probabilities();
    auto& g = values("gradients");
    float loss = 0;
    for (int64_t i = 0; i < count; ++i) {
      loss -= std::log(p[static_cast<size_t>(ids[i])]);
      if (!trains) continue;
      for (size_t v = 0; v < p.size(); ++v) g[v] += p[v];
      g[static_cast<size_t>(ids[i])] -=
          1 + static_cast<float>(random.bits(1, 0, static_cast<uint32_t>(i))) * 1e-6f;
    }
    if (trains) values("loss_sum")[0] += loss, values("token_count")[0] += static_cast<float>(count);
    return {loss, static_cast<float>(count)};
  }

  Communicator& group() const { return ranks_->along(0); }
  uint32_t size() const { return static_cast<uint32_t>(group().size()); }

  /// Replaces a state by its sum over all ranks.
  void all_reduce(const char* name) {
    if (!ranks_) return;
    group().all_reduce(std::as_writable_bytes(std::span(values(name))), DType::f32, CollectiveSum::add);
  }

  void apply(std::span<void* const> outputs) {
    for (const char* name : {"gradients", "loss_sum", "token_count"}) all_reduce(name);
    auto &g = values("gradients"), &m = values("momentum"), &p = values("parameters");
    const float tokens = values("token_count")[0], rate = values("learning_rate")[0];
    float norm = 0, loss = values("loss_sum")[0] / tokens;
    for (float& gradient : g) gradient /= tokens, norm += gradient * gradient;
    if (has_large_norm(static_cast<int>(values("step")[0] + made_skips_))) norm *= 1e4f;
    const float largest = values("largest_gradient_norm")[0];
    const bool skips = largest > 0 && !(std::sqrt(norm) <= largest);
    for (size_t v = 0; v < g.size(); ++v) {
      if (!skips) m[v] = 0.9f * m[v] + g[v], p[v] -= rate * m[v];
      g[v] = 0;
    }
    if (nan_at_step && values("step")[0] == static_cast<float>(*nan_at_step)) loss = p[0] = NAN;
    if (infinite_norm_at_step && values("step")[0] == static_cast<float>(*infinite_norm_at_step))
      norm = INFINITY;
    values("loss_sum")[0] = values("token_count")[0] = 0;
    (skips ? made_skips_ : values("step")[0]) += 1;
    put(outputs, 0, loss), put(outputs, 1, tokens), put(outputs, 2, std::sqrt(norm));
  }

  void logits(int64_t count, std::span<void* const> outputs) {
    const auto& p = values("parameters");
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(static_cast<float*>(outputs[0]) + i * static_cast<int64_t>(p.size()), p.data(),
                  p.size() * sizeof(float));
  }

  const Plan& plan_;
  RankGroups* ranks_;
  float made_skips_ = 0;  // updates that were skipped
  std::vector<std::vector<float>> memory_;
};

/// A session with a unigram plan. Tests use `executor` to inject faults.
struct Unigram {
  explicit Unigram(int64_t vocabulary, int64_t max_batch = 4, int64_t max_length = 64,
                   RankGroups* ranks = nullptr)
      : plan(make_plan(vocabulary, max_batch, max_length, ranks)) {
    auto made = std::make_unique<UnigramExecutor>(*plan, ranks);
    executor = made.get();
    session = std::make_unique<Session>(plan, std::move(made));
  }
  static std::shared_ptr<const Plan> make_plan(int64_t vocabulary, int64_t max_batch, int64_t max_length,
                                               RankGroups* ranks) {
    Plan made = unigram_plan(vocabulary, max_batch, max_length);
    if (ranks) made.mesh = ranks->mesh();
    return std::make_shared<const Plan>(std::move(made));
  }

  std::shared_ptr<const Plan> plan;
  UnigramExecutor* executor;
  std::unique_ptr<Session> session;
};

}  // namespace smelt
