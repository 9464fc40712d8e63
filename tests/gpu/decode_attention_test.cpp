// Attention of few queries over caches on the GPU of this machine: against the evaluator, the same bits alone
// and among others, and the template that the sizes ask for; skipped where there is no GPU.
#include "frontend/blocks/blocks.h"
#include "runtime/cuda/device.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cached_attention.h"
#include "tests/support/table_attention.h"

namespace smelt {
namespace {

using testing::CachedAttention;

class GpuDecodeAttention : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  }

  static Session session_of(const Module& module, DType storage) {
    CompileOptions options;
    options.target = "native", options.mode = Mode::infer, options.storage = storage;
    return testing::cpu_session(compile(module.clone(), options).plan);
  }

  static void expect_right(const CachedAttention& cache, const std::vector<int64_t>& past) {
    const auto module = testing::module_of(cache);
    const Tensors inputs = testing::inputs_of(*module, past);
    const SymbolValues symbols = {{"B", static_cast<int64_t>(past.size())}};
    const Tensors expected =
        evaluate(*module->graphs[0], inputs, {}, {.symbols = symbols, .philox = {}}).outputs;
    Session session = session_of(*module, cache.dtype);
    const double bound = cache.dtype == DType::f32 ? 1e-6 : cache.dtype == DType::bf16 ? 4e-3 : 6e-4;
    for (int run = 0; run < 3; ++run) {  // the second one is captured
      const Tensors actual = testing::run_entry(session, "main", {}, inputs);
      EXPECT_LE(testing::relative_error(actual.at("y"), expected.at("y")), bound)
          << "width " << cache.width << ", heads " << cache.heads << ", run " << run;
    }
  }
};

TEST_F(GpuDecodeAttention, AreRightInEveryType) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (const int64_t width : {12, 17, 64, 80, 128, 256})
      expect_right({.width = width, .dtype = dtype}, {0, 300, 776});
}

/// Compared with the exact attention of the same codes. Kernels for tiles of queries also round keys and
/// values.
TEST_F(GpuDecodeAttention, AreRightForCodesOfEightBits) {
  for (const CacheCodes codes : {CacheCodes::int8, CacheCodes::fp8})
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
      for (const int64_t width : {12, 17, 64, 80, 128, 256})
        for (const int64_t queries : {1, 70}) {
          const auto with = [&](DType type) {
            return CachedAttention{
                .keys = 3000,
                .width = width,
                .most_queries = 70,
                .dtype = type,
                .stored = [=](GraphBuilder& b, Value* x) { return numbers_of(b, coded(b, x, codes), type); }};
          };
          const auto module = testing::module_of(with(dtype)), exact = testing::module_of(with(DType::f32));
          const Tensors inputs = testing::inputs_of(*module, {5, 64, 2900}, queries);
          const Tensors expected =
              evaluate(*exact->graphs[0], inputs, {},
                       {.symbols = {{"B", 3}, {"T", queries}}, .philox = {}, .round = true, .single = true})
                  .outputs;
          Session session = session_of(*module, dtype);
          const Tensors actual = testing::run_entry(session, "main", {}, inputs);
          const double bound = dtype == DType::f32 ? 1e-5 : dtype == DType::bf16 ? 8e-3 : 1.2e-3;
          EXPECT_LE(testing::relative_error(actual.at("y"), expected.at("y")), bound)
              << name(dtype) << ", width " << width << ", queries " << queries;
        }
}

TEST_F(GpuDecodeAttention, AreRightForEveryGroup) {
  for (const int64_t group : {1, 2, 3, 4, 7, 8, 16, 24})
    for (const DType dtype : {DType::f32, DType::bf16})
      expect_right({.keys = 3000, .heads = 2 * group, .dtype = dtype}, {5, 64, 2999});
}

TEST_F(GpuDecodeAttention, SeeAWindowAndOneAnother) {
  expect_right({.queries = 4, .window = 100}, {0, 99, 772});
  expect_right({.keys = 4200, .queries = 2, .dtype = DType::bf16, .window = 1}, {0, 4099, 64});
}

/// Before a ring is full, when it is, and when what is seen lies at both of its ends.
TEST_F(GpuDecodeAttention, FindTheirWindowInARing) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int64_t queries : {1, 4})
      for (const int64_t before : {0, 300, 772, 777, 1200, 5000})
        expect_right({.queries = queries, .dtype = dtype, .window = 100, .ring = true}, {before, 12, 780});
  expect_right({.keys = 4607, .dtype = DType::bf16, .window = 4096, .ring = true}, {4606, 0, 9000});
}

/// Lanes look up the numbers of a mask together.
TEST_F(GpuDecodeAttention, SeeTheKeysThatAMaskLeaves) {
  const CachedAttention cache{.batch = 4, .keys = 3000, .masked = true};
  const auto module = testing::module_of(cache);
  Tensors inputs = testing::inputs_of(*module, {2999, 2999, 1500, 2999});
  std::vector<double>& mask = inputs.at("mask").data;
  std::ranges::fill(mask, 0);
  for (const size_t key : {5, 2999, 3000 + 1700, 6000 + 64, 6000 + 1000})
    mask[key] = 1;  // none of the last row
  const Tensors expected =
      evaluate(*module->graphs[0], inputs, {}, {.symbols = {{"B", 4}}, .philox = {}}).outputs;
  Session session = session_of(*module, DType::f32);
  const Tensors actual = testing::run_entry(session, "main", {}, inputs);
  EXPECT_LE(testing::relative_error(actual.at("y"), expected.at("y")), 1e-6);
}

TEST_F(GpuDecodeAttention, HaveTheSameBitsAloneAndAmongOthers) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const CachedAttention cache{.batch = 32, .keys = 5000, .heads = 8, .dtype = dtype};
    const auto module = testing::module_of(cache);
    std::vector<int64_t> past;
    for (int64_t row = 0; row < 32; ++row) past.push_back(row * 161);
    const Tensors all = testing::inputs_of(*module, past);
    Session session = session_of(*module, dtype);
    const Tensor together = testing::run_entry(session, "main", {}, all).at("y");
    for (const size_t row : {0, 7, 31}) {
      Tensors own = all;
      for (auto& [name, tensor] : own) {
        const size_t size = tensor.data.size() / past.size();
        tensor.shape[0] = 1;
        tensor.data = {tensor.data.begin() + static_cast<int64_t>(row * size),
                       tensor.data.begin() + static_cast<int64_t>((row + 1) * size)};
      }
      const Tensor alone = testing::run_entry(session, "main", {}, own).at("y");
      EXPECT_TRUE(std::equal(alone.data.begin(), alone.data.end(),
                             together.data.begin() + static_cast<int64_t>(row * alone.data.size())))
          << "row " << row;
    }
  }
}

/// As an entry of a generator has them: one query or a prompt of many.
TEST_F(GpuDecodeAttention, AndManyAreRightInOnePlan) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    CachedAttention cache{.keys = 700, .heads = 8, .most_queries = 200, .dtype = dtype};
    const auto module = testing::module_of(cache);
    Session session = session_of(*module, dtype);
    for (const int64_t queries : {1, 3, 4, 5, 33, 200}) {
      const Tensors inputs = testing::inputs_of(*module, {0, 17, 500}, queries);
      const Tensors expected =
          evaluate(*module->graphs[0], inputs, {}, {.symbols = {{"B", 3}, {"T", queries}}, .philox = {}})
              .outputs;
      const Tensors actual = testing::run_entry(session, "main", {}, inputs);
      EXPECT_LE(testing::relative_error(actual.at("y"), expected.at("y")), dtype == DType::f32 ? 1e-6 : 4e-3)
          << queries << " queries";
    }
  }
}

/// Tiles of queries follow the indices of a table too: no kernel copies keys.
TEST_F(GpuDecodeAttention, TilesFollowPages) {
  for (const char* type : {"bf16", "f16"})
    for (const int64_t width : {16, 64, 80, 128, 12})
      for (const int64_t queries : {64, 33}) {
        const auto module =
            testing::in_table(fmt::format("50,16,2,{}", width), 800, "%pages: i32[B,13] {below = 50}",
                              testing::kOfPages, 208, type, queries, width);
        const Graph& graph = *module->graphs[0];
        const SymbolValues symbols = {{"B", 3}};
        Tensors inputs = testing::random_inputs(graph, 5, symbols),
                states = testing::random_states(graph, 5, symbols);
        testing::round_to_type(inputs);
        testing::round_to_type(states);
        inputs.at("past").data = {0, 144, -70};  // the last row sees nothing
        const Tensor expected =
            evaluate(graph, inputs, states, {.symbols = symbols, .philox = {}}).outputs.at("y");
        Session session = session_of(*module, *parse_dtype(type));
        for (const Step& step : session.plan().entries[0].steps)
          for (const int written : step.writes)
            EXPECT_LT(session.plan().buffers[static_cast<size_t>(written)].bytes, 3 * 208 * 2 * width * 2);
        testing::write_states(session, states);
        for (int run = 0; run < 3; ++run)
          EXPECT_LE(
              testing::relative_error(testing::run_entry(session, "main", {}, inputs).at("y"), expected),
              4e-3)
              << type << " " << width << " " << queries;
      }
}

}  // namespace
}  // namespace smelt
