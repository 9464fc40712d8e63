// Random bodies of attention, forward and backward, in one kernel each on the GPU of this machine against the
// evaluator, at sizes from 1 to 777 with groups of 1 to 8 query heads; skipped where there is no GPU.
// SMELT_SWEEP=0:400 runs those bodies, each at five sizes; several processes can share a sweep.
#include "tests/support/random_attention.h"

#include <fmt/ranges.h>

#include <cstdlib>

#include "ir/attention_body.h"
#include "passes/autodiff/differentiate.h"
#include "runtime/cuda/device.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int64_t kWidths[] = {32, 40, 64, 80, 96, 128, 256, 17};
constexpr int64_t kLengths[] = {1, 3, 31, 33, 64, 100, 128, 197, 257, 777};

template <size_t N>
int64_t pick(const int64_t (&list)[N], std::mt19937_64& random) {
  return list[random() % N];
}

/// y and the gradients of everything that it is made of.
std::unique_ptr<Module> attention_module(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto module = std::make_unique<Module>();
  module->symbols.bound({"B"}, 3);
  module->symbols.bound({"T"}, 777);
  module->symbols.bound({"S"}, 777);
  Graph& graph = module->add_graph("main");
  GraphBuilder b(graph);
  const Dim queries = Dim::symbol("T"), keys = random() % 2 == 0 ? queries : Dim::symbol("S");
  testing::AttentionSizes sizes{
      Dim::symbol("B"), queries, keys, 0, static_cast<int64_t>(1 + random() % 8), pick(kWidths, random)};
  sizes.heads = sizes.group * static_cast<int64_t>(1 + random() % 2);
  Node* attention = testing::RandomAttention(b, sizes, seed, /*as_inputs=*/true).write();
  Value* weights = b.input("w", attention->result()->type);
  b.output("y", attention->result());
  b.output("f", b.sum(b.mul(attention->result(), weights), {0, 1, 2, 3}));
  std::vector<std::string> floats;
  for (const Node* input : graph.inputs())
    if (is_float(input->result()->dtype()) && input->string_attr("name") != "w")
      floats.push_back(input->string_attr("name"));
  differentiate(graph, {.output = "f", .wrt = floats, .seed = 1});
  std::erase_if(graph.outputs, [](const Graph::Output& output) { return output.name == "f"; });
  return module;
}

/// What heads are stored as is exact, so that only what kernels round differs.
void round_to(Tensors& tensors, DType dtype) {
  for (auto& [name, tensor] : tensors)
    for (double& x : tensor.data)
      if (is_float(tensor.dtype))
        x = dtype == DType::bf16 ? from_bf16(to_bf16(static_cast<float>(x)))
                                 : from_f16(to_f16(static_cast<float>(x)));
}

/// Of means, of gradients of heads, and of those of what the body reads, which are sums that cancel.
struct Bound {
  double y, heads, others;
};
constexpr Bound kBf16 = {4e-3, 2e-2, 5e-2}, kF16 = {6e-4, 4e-3, 1e-2};

void expect_near(const Tensors& actual, const Tensors& expected, const Bound& bound,
                 const std::string& text) {
  double all = 0, count = 0;  // of the gradients as one vector, some of which are zero in exact arithmetic
  for (const auto& [name, tensor] : expected) {
    if (name == "y") continue;
    for (const double x : tensor.data) all += x * x;
    count += static_cast<double>(tensor.data.size());
  }
  for (const auto& [name, tensor] : expected) {
    double error = 0, norm = 0;
    for (size_t i = 0; i < tensor.data.size(); ++i) {
      const double difference = actual.at(name).data[i] - tensor.data[i];
      error += difference * difference, norm += tensor.data[i] * tensor.data[i];
      if (!std::isfinite(actual.at(name).data[i])) error = INFINITY;
    }
    const bool is_head = name == "grad.q" || name == "grad.k" || name == "grad.v";
    const double limit = name == "y" ? bound.y : is_head ? bound.heads : bound.others;
    const double least =
        1e-12 + (name == "y" ? 0 : 1e-4 * all * static_cast<double>(tensor.data.size()) / count);
    EXPECT_LE(std::sqrt(error / std::max(norm, least)), limit) << name << text;
  }
}

void run_case(const Module& module, Session& session, DType storage, const SymbolValues& symbols,
              uint64_t seed) {
  const Graph& graph = *module.graphs[0];
  Tensors inputs = testing::random_inputs(graph, seed, symbols, 2);
  round_to(inputs, storage);
  const Philox philox{.seed = 7, .step = 3, .micro_step = 0};
  const Tensors expected =
      evaluate(graph, inputs, {}, {.symbols = symbols, .philox = philox, .round = true}).outputs;
  const Tensors actual = testing::run_entry(session, "main", philox, inputs);
  const Tensors again = testing::run_entry(session, "main", philox, inputs);
  for (const auto& [name, tensor] : actual)
    EXPECT_EQ(std::memcmp(again.at(name).data.data(), tensor.data.data(), 8 * tensor.data.size()), 0)
        << name << " differs from run to run";
  std::string sizes;
  for (const auto& [name, value] : symbols) sizes += fmt::format("{} = {} ", name, value);
  expect_near(actual, expected, storage == DType::bf16 ? kBf16 : kF16, "\n" + sizes + "\n" + print(module));
}

TEST(GpuAttention, RandomBodies) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  const char* sweep = std::getenv("SMELT_SWEEP");
  uint64_t begin = 0, end = 8;
  if (sweep) {
    char* colon = nullptr;
    begin = std::strtoull(sweep, &colon, 10);
    end = std::strtoull(colon + (*colon == ':'), nullptr, 10);
  }
  for (uint64_t seed = begin; seed < end; ++seed) {
    SCOPED_TRACE(seed);
    const auto module = attention_module(seed);
    CompileOptions options;
    options.target = "native", options.mode = Mode::infer, options.attention = AttentionForm::fused;
    options.storage = seed % 3 == 0 ? DType::f16 : DType::bf16;
    Session session = testing::cpu_session(compile(module->clone(), options).plan);
    std::mt19937_64 random(seed);
    for (uint64_t i = 0; i < 5; ++i) {
      const int64_t longest = i == 4 ? 777 : 260;
      const int64_t queries = std::min(pick(kLengths, random), longest),
                    keys = std::min(pick(kLengths, random), longest);
      const int64_t batch = queries * keys > 100'000 ? 1 : 1 + static_cast<int64_t>(random() % 3);
      run_case(*module, session, options.storage, {{"B", batch}, {"T", queries}, {"S", keys}}, 10 * seed + i);
    }
  }
}

// ---- kernels of which the fastest is taken

/// A causal attention and its gradients, with a record of choices of its own.
class GpuAlternatives : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
    ::setenv("SMELT_CACHE_DIR", cache_.path().c_str(), 1);
    options_.target = "native", options_.mode = Mode::infer, options_.attention = AttentionForm::fused;
    options_.storage = DType::bf16;
    module_ = std::make_unique<Module>();
    module_->symbols.bound({"B"}, 3), module_->symbols.bound({"T"}, 777);
    Graph& graph = module_->add_graph("main");
    GraphBuilder b(graph);
    const auto heads = [&](const char* name, int64_t count) {
      return b.input(name, {DType::f32, {Dim::symbol("B"), Dim::symbol("T"), count, 64}});
    };
    AttentionWriter writer(b, heads("q", 4), heads("k", 2), heads("v", 2), 0.125);
    writer.mask_future();
    Value* y = writer.finish()->result();
    b.output("y", y);
    b.output("f", b.sum(b.mul(y, b.input("w", y->type)), {0, 1, 2, 3}));
    differentiate(graph, {.output = "f", .wrt = {"q", "k", "v"}, .seed = 1});
    std::erase_if(graph.outputs, [](const Graph::Output& output) { return output.name == "f"; });
    plan_ = compile(module_->clone(), options_).plan;
  }
  void TearDown() override { ::unsetenv("SMELT_CACHE_DIR"); }

  /// `record` with every choice that has these names at the `number`-th of its own.
  Json with_alternative(Json record, size_t number) const {
    for (auto& [key, taken] : record["alternatives"]["taken"].items())
      for (const Choice& choice : plan_.entries[0].choices)
        if (key.starts_with(fmt::format("{}", fmt::join(choice.alternatives, " | "))))
          taken = choice.alternatives[std::min(number, choice.alternatives.size() - 1)];
    return record;
  }

  TemporaryDirectory cache_;
  CompileOptions options_;
  std::unique_ptr<Module> module_;
  Plan plan_;
};

const SymbolValues kSizes = {{"B", 2}, {"T", 197}};

TEST_F(GpuAlternatives, AllAgree) {
  ASSERT_EQ(plan_.entries[0].choices.size(), 2u) << "forward and backward";
  size_t most = 0;
  for (const Choice& choice : plan_.entries[0].choices) most = std::max(most, choice.alternatives.size());
  ASSERT_GE(most, 2u);
  Session measured = testing::cpu_session(Plan(plan_));
  run_case(*module_, measured, DType::bf16, kSizes, 1);
  const Json record = Json::parse(measured.executor().choices());
  ASSERT_EQ(record["alternatives"]["taken"].size(), 2u);
  for (size_t number = 0; number < most; ++number) {
    SCOPED_TRACE(number);
    Session session = testing::cpu_session(Plan(plan_));
    ASSERT_EQ(session.executor().restore_choices(with_alternative(record, number).dump()), "");
    run_case(*module_, session, DType::bf16, kSizes, 1);
    for (const ChoiceTaken& taken : session.executor().taken()) {
      const auto& names = taken.entry->choices[static_cast<size_t>(taken.choice)].alternatives;
      EXPECT_EQ(static_cast<size_t>(taken.alternative), std::min(number, names.size() - 1));
    }
  }
}

TEST_F(GpuAlternatives, TheChoiceIsKept) {
  const Tensors inputs = testing::random_inputs(*module_->graphs[0], 1, kSizes, 2);
  const auto run = [&](Session& session) { return testing::run_entry(session, "main", {}, inputs); };
  Session first = testing::cpu_session(Plan(plan_)), next = testing::cpu_session(Plan(plan_));
  const Tensors expected = run(first), found = run(next);
  EXPECT_EQ(first.executor().choices(), next.executor().choices());
  for (const auto& [name, tensor] : expected) EXPECT_EQ(found.at(name).data, tensor.data) << name;
}

}  // namespace
}  // namespace smelt
