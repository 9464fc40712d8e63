// Matmuls that add in order: the library's algorithms are held to the bits of the step's kernel.
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/base/half.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

constexpr int64_t kChainRows = 8, kChainColumns = 128, kChainTerms = 16;

/// c[m,n] = a[m,k] b[n,k]^T of bf16 with results in f32, and the kernel "chain" for it.
Plan plan_in_order(bool in_order = true) {
  Plan plan;
  plan.target = "sm_90";
  const auto buffer = [&](const char* name, Role role, DType dtype, int64_t elements) {
    plan.buffers.push_back({.name = name,
                            .role = role,
                            .dtype = dtype,
                            .elements = elements,
                            .bytes = elements * size_of(dtype)});
  };
  buffer("a", Role::input, DType::bf16, kChainRows * kChainTerms),
      buffer("b", Role::input, DType::bf16, kChainColumns * kChainTerms);
  buffer("c", Role::output, DType::f32, kChainRows * kChainColumns);
  GemmStep gemm{{{0, 0}, kChainTerms, 1},
                {{1, 0}, 1, kChainTerms},
                {{2, 0}, kChainColumns, 1},
                kChainRows,
                kChainColumns,
                kChainTerms};
  gemm.dtype = DType::bf16, gemm.in_order = in_order;
  plan.kernels = {{.name = "chain",
                   .text = "",
                   .dims = {},
                   .range = 1,
                   .threads = 32,
                   .binary = code("chain, as machine code")}};
  TemplateLaunch launch{.step = "gemm"};
  for (const char* matrix : {"a", "b", "c"}) {
    const bool result = *matrix == 'c';
    launch.arguments.push_back({TemplateLaunch::Argument::Kind::address, Dim::symbol(matrix), 2,
                                result ? DType::f32 : DType::bf16, !result, result});
  }
  plan.kernels[0].launch = std::move(launch);
  PlanEntry entry;
  entry.name = "train_step";
  entry.inputs = {{"a", DType::bf16, {Dim(kChainRows), Dim(kChainTerms)}, 0},
                  {"b", DType::bf16, {Dim(kChainColumns), Dim(kChainTerms)}, 1}};
  entry.outputs = {{"c", DType::f32, {Dim(kChainRows), Dim(kChainColumns)}, 2}};
  Step step{gemm, {0, 1}, {2}, {}, {"head"}, "forward"};
  step.kernels = {0};
  entry.steps = {step};
  plan.entries = {entry};
  return plan;
}

class InOrder : public FakeGpu {
 protected:
  InOrder() {
    gpu().kernels["chain"] = {3, [this](const KernelCall& call) { chain(call); }};
    gpu().milliseconds_by_algorithm = {3, 1, 2};
  }

  /// Results that are `off_` units in the last place from the bits of algorithm 0; takes 5 ms.
  void chain(const KernelCall& call) {
    const auto *a = call.argument<const uint16_t*>(0), *b = call.argument<const uint16_t*>(1);
    auto* c = call.argument<uint32_t*>(2);
    for (int64_t i = 0; i < kChainRows; ++i)
      for (int64_t j = 0; j < kChainColumns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < kChainTerms; ++k)
          sum += double{from_bf16(a[i * kChainTerms + k])} * from_bf16(b[j * kChainTerms + k]);
        c[i * kChainColumns + j] = std::bit_cast<uint32_t>(static_cast<float>(sum)) + off_;
      }
    gpu().clock += 5;
    ++chains_;
  }

  /// Runs the step with numbers up to `most`.
  static void run(Session& session, int most = 7) {
    std::vector<uint16_t> a(kChainRows * kChainTerms), b(kChainColumns * kChainTerms);
    for (size_t i = 0; i < a.size(); ++i) a[i] = to_bf16(most == 0 ? 0.0F : static_cast<float>(i % 13 + 1));
    for (size_t i = 0; i < b.size(); ++i) b[i] = to_bf16(most == 0 ? 0.0F : static_cast<float>(i % most + 1));
    const InputTensor inputs[] = {{"a", DType::bf16, {kChainRows, kChainTerms}, a.data()},
                                  {"b", DType::bf16, {kChainColumns, kChainTerms}, b.data()}};
    session.run("train_step", inputs);
  }
  /// The chosen algorithms by key.
  static std::map<std::string, std::string> choices(Session& session) {
    const std::string text = session.executor().choices();
    if (text.empty()) return {};
    const auto json = nlohmann::json::parse(text);
    return json.contains("algorithms") ? json["algorithms"].get<std::map<std::string, std::string>>()
                                       : std::map<std::string, std::string>();
  }
  static std::string first_word(const std::string& algorithm) { return algorithm.substr(0, 16); }

  static constexpr const char *kZero = "0000000000000000", *kOwn = "ffffffffffffffff";
  uint32_t off_ = 0;
  int chains_ = 0;
};

TEST_F(InOrder, OnlyAlgorithmsWithTheBitsOfTheKernelAreTaken) {
  const auto ready = session(plan_in_order());
  run(*ready);
  ASSERT_EQ(choices(*ready).size(), 1U);
  EXPECT_EQ(first_word(choices(*ready).begin()->second), kZero)
      << "algorithm 1 is faster, and has other bits";
  EXPECT_EQ(gpu().reduction_schemes, 0U);
}

TEST_F(InOrder, TheKernelRunsWhereNoAlgorithmHasItsBits) {
  off_ = 100;
  const auto ready = session(plan_in_order());
  run(*ready);
  EXPECT_EQ(first_word(choices(*ready).begin()->second), kOwn);
  const int gemms = gpu().gemms, chains = chains_;
  run(*ready);
  EXPECT_EQ(gpu().gemms, gemms);
  EXPECT_EQ(chains_, chains + 1);
}

TEST_F(InOrder, ZerosShowNoOrder) {
  const auto ready = session(plan_in_order());
  run(*ready, 0);
  EXPECT_TRUE(choices(*ready).empty()) << "another process measures with other numbers";
  EXPECT_EQ(gpu().gemms, 0);
  const int chains = chains_;
  run(*ready);
  EXPECT_EQ(chains_, chains + 1);
}

/// The library may begin with the incomplete block.
TEST_F(InOrder, SumsWithAnIncompleteBlockAreTheKernels) {
  Plan plan = plan_in_order();
  std::get<GemmStep>(plan.entries[0].steps[0].what).k = kChainTerms / 2;
  const auto ready = session(plan);
  run(*ready);
  EXPECT_TRUE(choices(*ready).empty());
  EXPECT_EQ(gpu().gemms, 0);
  EXPECT_EQ(chains_, 1);
}

TEST_F(InOrder, ChoicesOfOtherStepsAreNotTheirs) {
  Plan other = plan_in_order(false);
  other.entries[0].steps[0].kernels.clear();
  {
    const auto ready = session(other);
    run(*ready);
    EXPECT_EQ(first_word(choices(*ready).begin()->second), "0000000000000001");
  }
  const auto ready = session(plan_in_order());
  run(*ready);
  ASSERT_EQ(choices(*ready).size(), 1U);
  EXPECT_TRUE(choices(*ready).begin()->first.starts_with("in order bf16>f32 "));
  EXPECT_EQ(first_word(choices(*ready).begin()->second), kZero);
}

TEST_F(InOrder, AStepWithoutItsKernelIsNamed) {
  Plan plan = plan_in_order();
  plan.kernels[0].launch->conditions = {{Dim::symbol("m"), 1, 4}};
  EXPECT_HAS(message_of([&] { run(*session(plan)); }),
             "a matmul in order, for whose sizes the plan has no kernel");
}

}  // namespace
}  // namespace smelt::fake
