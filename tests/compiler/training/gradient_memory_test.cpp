// Gradients that nobody keeps have memory of the arena, a weight's from the step on that makes it: the
// numbers are those of a plan that keeps them in a state, and the memory is less.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "frontend/description.h"
#include "runtime/session/executor.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

constexpr int kUpdates = 3;
const SymbolValues kBatchSizes = {{"B", 3}, {"T", 13}, {"S", 11}};

struct GradientCase {
  const char *model, *symbols;
  const char* target;
  DType storage;
};
void PrintTo(const GradientCase& c, std::ostream* out) {
  *out << c.model << " " << c.target << " " << name(c.storage);
}

Plan train_step(const GradientCase& c, bool keeps) {
  CompileOptions options;
  options.entries = {"train_step"};
  options.target = c.target, options.storage = c.storage;
  options.build.dropout = 0.1;
  for (const char symbol : std::string(c.symbols))
    options.build.bounds.push_back({{std::string(1, symbol)}, kBatchSizes.at(std::string(1, symbol))});
  const Description description =
      read_description(std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens" / c.model);
  options.training.accumulation = false;
  options.training.optimizer.keep_gradients = keeps;
  options.training.optimizer.clip_norm = 0.5;
  if (std::string_view(c.target) == "cpu") return std::move(compile(description, options).plan);
  return test::plan_on_host(compile(description, options, Stage::program).program);
}

/// An input's random numbers, in the range of its ids.
HostTensor random_port(const Port& port, std::mt19937& engine) {
  HostTensor tensor;
  tensor.name = port.name, tensor.dtype = port.dtype;
  int64_t elements = 1;
  for (const Dim& dim : port.shape) elements *= tensor.shape.emplace_back(dim.evaluate(kBatchSizes));
  tensor.bytes.resize(static_cast<size_t>(elements * size_of(port.dtype)));
  for (int64_t i = 0; i < elements; ++i) {
    const float real = std::normal_distribution<float>()(engine);
    const auto whole = static_cast<int32_t>(engine() % static_cast<uint64_t>(port.ids ? port.ids->below : 2));
    const void* value = port.dtype == DType::f32 ? static_cast<const void*>(&real) : &whole;
    std::memcpy(tensor.bytes.data() + i * size_of(port.dtype), value,
                static_cast<size_t>(size_of(port.dtype)));
  }
  return tensor;
}

/// The losses, and every state but the gradients.
std::map<std::string, std::vector<std::byte>> after_training(Session& session) {
  std::mt19937 engine(5);
  std::map<std::string, std::vector<std::byte>> all;
  session.initialize(1);
  for (int step = 0; step < kUpdates; ++step) {
    std::vector<HostTensor> tensors;
    std::vector<InputTensor> inputs;
    for (const Port& port : session.entry("train_step").inputs) tensors.push_back(random_port(port, engine));
    for (const HostTensor& t : tensors) inputs.push_back({t.name, t.dtype, t.shape, t.bytes.data()});
    session.set_random(7, static_cast<uint32_t>(step), 0);
    for (const HostTensor& output : session.run("train_step", inputs))
      all[output.name + std::to_string(step)] = output.bytes;
  }
  for (const State& state : session.plan().states) {
    const auto bytes = session.state(state.name);
    if (state.role != Role::gradient) all[state.name].assign(bytes.begin(), bytes.end());
  }
  return all;
}

class GradientMemory : public ::testing::TestWithParam<GradientCase> {};

TEST_P(GradientMemory, IsTheForwardPassesFirst) {
  const auto kept = std::make_shared<const Plan>(train_step(GetParam(), true));
  const auto shared = std::make_shared<const Plan>(train_step(GetParam(), false));
  EXPECT_TRUE(kept->find_state("gradients"));
  EXPECT_FALSE(shared->find_state("gradients"));
  EXPECT_TRUE(std::ranges::any_of(shared->buffers, [](const Buffer& b) { return !b.parts.empty(); }));
  EXPECT_LT(executor_memory(*shared).total(), executor_memory(*kept).total());
  Session one(kept, {.threads = 1, .poison = true}), two(shared, {.threads = 1, .poison = true});
  EXPECT_EQ(after_training(one), after_training(two));
}

std::vector<GradientCase> cases() {
  std::vector<GradientCase> all = {{"gpt2", "BT", "sm_90", DType::bf16},
                                   {"vit-odd", "B", "sm_90", DType::f32},
                                   {"bart-uneven", "BST", "sm_90", DType::bf16}};
  const std::vector<std::pair<const char*, const char*>> models = {
      {"gpt2", "BT"},      {"bert-multi", "BT"}, {"llama-llama3", "BT"},
      {"t5-gated", "BST"}, {"vit-odd", "B"},     {"bart-uneven", "BST"}};
  for (const auto& [model, symbols] : models)
    for (const DType storage : {DType::f32, DType::bf16}) all.push_back({model, symbols, "cpu", storage});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Models, GradientMemory, ::testing::ValuesIn(cases()));

}  // namespace
}  // namespace smelt
