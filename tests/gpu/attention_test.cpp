// Random bodies of attention, forward and backward, in one kernel each on the GPU of this machine against the
// evaluator, at sizes from 1 to 777 with groups of 1 to 8 query heads; skipped where there is no GPU.
// SMELT_SWEEP=0:400 runs those bodies, each at five sizes; several processes can share a sweep.
#include "tests/support/random_attention.h"

#include <fmt/ranges.h>

#include <cstdlib>

#include "ir/graph/attention_body.h"
#include "passes/graph/autodiff/differentiate.h"
#include "runtime/cuda/device.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int64_t kWidths[] = {32, 40, 64, 80, 96, 128, 256, 17};
/// Bodies take turns: the fastest of all kernels, and each kind of kernel alone.
constexpr AttentionForm kForms[] = {AttentionForm::fused, AttentionForm::mma, AttentionForm::wgmma};
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
    if (is_float(input->result()->dtype()) && input->get(attr::name) != "w")
      floats.push_back(input->get(attr::name));
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

/// Of means, of gradients of heads, of those of what the body reads, and of those numbers among them that a
/// whole head shares: a row's derivatives sum to zero but for the rounding of its weights, and such a number
/// adds all of them up, times distances.
struct Bound {
  double y, heads, others, shared;
};
constexpr Bound kBf16 = {4e-3, 2e-2, 5e-2, 0.6}, kF16 = {6e-4, 4e-3, 1e-2, 0.12};

bool is_shared(const std::string& name) {
  return name.starts_with("grad.slopes") || name.starts_with("grad.wave");
}

double bound_of(const std::string& name, const Bound& bound) {
  if (name == "y") return bound.y;
  if (name == "grad.q" || name == "grad.k" || name == "grad.v") return bound.heads;
  return is_shared(name) ? bound.shared : bound.others;
}

/// Of each value, the root of the mean square of what it is off by, in units of its bound. The gradient of a
/// shared number is a sum of terms that may be multiplied by distances, up to `longest`.
std::map<std::string, double> errors(const Tensors& actual, const Tensors& expected, const Bound& bound,
                                     double longest) {
  double all = 0, count = 0;  // of the gradients as one vector, some of which are zero in exact arithmetic
  for (const auto& [name, tensor] : expected) {
    if (name == "y") continue;
    for (const double x : tensor.data) all += x * x;
    count += static_cast<double>(tensor.data.size());
  }
  std::map<std::string, double> found;
  for (const auto& [name, tensor] : expected) {
    double error = 0, norm = 0;
    for (size_t i = 0; i < tensor.data.size(); ++i) {
      const double difference = actual.at(name).data[i] - tensor.data[i];
      error += difference * difference, norm += tensor.data[i] * tensor.data[i];
      if (!std::isfinite(actual.at(name).data[i])) error = INFINITY;
    }
    const double reach = is_shared(name) ? longest * longest : 1;
    const double least =
        1e-12 + (name == "y" ? 0 : 1e-4 * reach * all * static_cast<double>(tensor.data.size()) / count);
    found[name] = std::sqrt(error / std::max(norm, least)) / bound_of(name, bound);
  }
  return found;
}

/// Compares sessions of a plan that fuses attention with the evaluator.
class Judge {
 public:
  Judge(const Module& module, const CompileOptions& options) : module_(module), options_(options) {}

  void run(Session& session, const SymbolValues& symbols, uint64_t seed) {
    const Graph& graph = *module_.graphs[0];
    Tensors inputs = testing::random_inputs(graph, seed, symbols, 2);
    round_to(inputs, options_.storage);
    const Tensors expected =
        evaluate(graph, inputs, {}, {.symbols = symbols, .philox = kPhilox, .round = true}).outputs;
    const Tensors actual = testing::run_entry(session, "main", kPhilox, inputs);
    const Tensors again = testing::run_entry(session, "main", kPhilox, inputs);
    for (const auto& [name, tensor] : actual)
      EXPECT_EQ(std::memcmp(again.at(name).data.data(), tensor.data.data(), 8 * tensor.data.size()), 0)
          << name << " differs from run to run";
    std::string sizes;
    for (const auto& [name, value] : symbols) sizes += fmt::format("{} = {} ", name, value);
    const double longest =
        static_cast<double>(std::max(symbols.at("T"), symbols.contains("S") ? symbols.at("S") : 0));
    expect_near(actual, expected, inputs, longest, "\n" + sizes + "\n" + print(module_));
  }

 private:
  static constexpr Philox kPhilox = {.seed = 7, .step = 3, .micro_step = 0};

  /// Gradients that are sums of large terms which cancel are off by more than a share of themselves in 16
  /// bits, however they are computed: there, by no more than those of the other form are.
  void expect_near(const Tensors& actual, const Tensors& expected, const Tensors& inputs, double longest,
                   const std::string& text) {
    const Bound& bound = options_.storage == DType::bf16 ? kBf16 : kF16;
    const auto found = errors(actual, expected, bound, longest);
    if (std::ranges::all_of(found, [](const auto& error) { return error.second <= 1; })) return;
    const auto others =
        errors(testing::run_entry(unfused(), "main", kPhilox, inputs), expected, bound, longest);
    for (const auto& [name, error] : found)
      EXPECT_LE(error, std::max(1.0, 1.5 * others.at(name)))
          << name << " in units of its bound; unfused: " << others.at(name) << text;
  }

  /// The plan of matmuls around a softmax, which is made when it is first asked for.
  Session& unfused() {
    if (unfused_) return *unfused_;
    CompileOptions options = options_;
    options.attention = AttentionForm::unfused;
    return unfused_.emplace(testing::cpu_session(compile(module_.clone(), options).plan));
  }

  const Module& module_;
  CompileOptions options_;
  std::optional<Session> unfused_;
};

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
    options.target = "native", options.mode = Mode::infer, options.attention = kForms[seed % 3];
    options.storage = seed / 3 % 3 == 0 ? DType::f16 : DType::bf16;
    Session session = testing::cpu_session(compile(module->clone(), options).plan);
    Judge judge(*module, options);
    std::mt19937_64 random(seed);
    for (uint64_t i = 0; i < 5; ++i) {
      const int64_t longest = i == 4 ? 777 : 260;
      const int64_t queries = std::min(pick(kLengths, random), longest),
                    keys = std::min(pick(kLengths, random), longest);
      const int64_t batch = queries * keys > 100'000 ? 1 : 1 + static_cast<int64_t>(random() % 3);
      judge.run(session, {{"B", batch}, {"T", queries}, {"S", keys}}, 10 * seed + i);
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
  Judge judge(*module_, options_);
  judge.run(measured, kSizes, 1);
  const Json record = Json::parse(measured.executor().choices());
  ASSERT_EQ(record["alternatives"]["taken"].size(), 2u);
  for (size_t number = 0; number < most; ++number) {
    SCOPED_TRACE(number);
    Session session = testing::cpu_session(Plan(plan_));
    ASSERT_EQ(session.executor().restore_choices(with_alternative(record, number).dump()), "");
    judge.run(session, kSizes, 1);
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
