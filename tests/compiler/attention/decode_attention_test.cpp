// Attention of few queries over many keys in the template for it, run on the host: random bodies against the
// evaluator, and rows that have the same bits alone and among others.
#include <cmath>

#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cached_attention.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"
#include "tests/support/random_attention.h"
#include "tests/support/table_attention.h"

namespace smelt {
namespace {

using testing::AttentionSizes;

Program few_program(const Module& module, CompileOptions options, const char* target) {
  options.target = target, options.mode = Mode::infer;
  return compile(module.clone(), options, Stage::program).program;
}

Plan few_on_host(const Module& module, const CompileOptions& options, const char* target = "sm_90") {
  const Program program = few_program(module, options, target);
  const auto is_few = [](const Kernel& kernel) { return kernel.attention && kernel.attention->few(); };
  EXPECT_TRUE(std::ranges::any_of(program.kernels, is_few)) << print(module);
  return test::plan_on_host(program);
}

/// ---- any body

constexpr int64_t kKeys[] = {1, 3, 31, 33, 64, 65, 197, 777};
constexpr int64_t kWidths[] = {1, 4, 6, 8, 12, 17, 32, 40, 64, 80, 128, 256};

template <size_t N>
int64_t pick(const int64_t (&list)[N], std::mt19937_64& random) {
  return list[random() % N];
}

class DecodeAttention : public ::testing::TestWithParam<uint64_t> {};

/// Up to eleven queries: few of them and many, and groups of which even one query has many rows.
TEST_P(DecodeAttention, TakeRandomBodies) {
  const uint64_t seed = GetParam();
  std::mt19937_64 random(seed);
  Module module;
  module.symbols.bound({"B"}, 3), module.symbols.bound({"T"}, 11);
  const int64_t group = seed == 0 ? 40 : 1 + static_cast<int64_t>(random() % 5);
  const AttentionSizes sizes{Dim::symbol("B"),
                             Dim::symbol("T"),
                             pick(kKeys, random),
                             group * (1 + static_cast<int64_t>(random() % 2)),
                             group,
                             pick(kWidths, random)};
  GraphBuilder b(module.add_graph("main"));
  Node* attention = testing::RandomAttention(b, sizes, seed, /*as_inputs=*/true).write();
  if (attention->body &&
      llvm::any_of(attention->body->nodes(), [](const auto& n) { return n->is(Op::random); }))
    GTEST_SKIP() << "random numbers are for other templates";
  b.output("y", attention->result());
  b.output("weights", b.exp(attention->result(1)));  // of which 0 is what sees nothing
  for (const int64_t queries : {1, 2, 5, 11}) {
    testing::CpuCase c{.symbols = {{"B", 3}, {"T", queries}}, .seed = seed + 1};
    c.plan = [](const Module& m, const CompileOptions& o) { return few_on_host(m, o); };
    testing::expect_cpu_matches(module, c);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DecodeAttention, ::testing::Range<uint64_t>(0, 12));

/// ---- a cache

/// The largest relative error of one rounding to a type.
double rounding_of(DType type) { return type == DType::bf16 ? 0x1p-8 : type == DType::f16 ? 0x1p-11 : 0; }

using testing::CachedAttention;
using testing::inputs_of;
using testing::module_of;

Session session_of(const Module& module, DType storage, const char* target = "sm_90") {
  CompileOptions options;
  options.storage = storage;
  return testing::cpu_session(few_on_host(module, options, target));
}

void expect_right(const CachedAttention& cache, const std::vector<int64_t>& past,
                  const char* target = "sm_90") {
  const auto module = module_of(cache);
  const Tensors inputs = inputs_of(*module, past);
  const SymbolValues symbols = {{"B", static_cast<int64_t>(past.size())}};
  const Tensors expected =
      evaluate(*module->graphs[0], inputs, {}, {.symbols = symbols, .philox = {}}).outputs;
  Session session = session_of(*module, cache.dtype, target);
  const double bound = rounding_of(cache.dtype) + 1e-6;
  const Tensors actual = testing::run_entry(session, "main", {}, inputs);
  EXPECT_LE(testing::relative_error(actual.at("y"), expected.at("y")), bound);
}

TEST(DecodeAttentionOfACache, AreRightInEveryType) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (const int64_t width : {12, 64, 80, 128})
      expect_right({.width = width, .dtype = dtype}, {0, 300, 776});
}

/// Without clusters, blocks leave their results in device memory, and the last one adds them.
TEST(DecodeAttentionOfACache, AreRightWithoutClusters) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (const int64_t width : {12, 64, 80})
      expect_right({.width = width, .dtype = dtype}, {0, 300, 776}, "sm_80");
}

TEST(DecodeAttentionOfACache, UseTensorCoresForWholePiecesOf16BitElements) {
  const auto uses = [](int64_t width, DType dtype) {
    CompileOptions options;
    options.storage = dtype;
    const auto module = module_of({.width = width, .dtype = dtype});
    const Program program = few_program(*module, options, "sm_90");
    return std::ranges::any_of(program.kernels, [](const Kernel& kernel) {
      return kernel.attention && kernel.attention->few() && kernel.attention->few()->tensor_cores;
    });
  };
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const int64_t width : {8, 64, 80, 256}) EXPECT_TRUE(uses(width, dtype)) << width;
    for (const int64_t width : {12, 17}) EXPECT_FALSE(uses(width, dtype)) << width;
  }
  EXPECT_FALSE(uses(64, DType::f32));
}

TEST(DecodeAttentionOfACache, AreRightForEveryGroup) {
  for (const int64_t group : {1, 2, 3, 7, 8, 16, 24})
    expect_right({.heads = 2 * group, .dtype = DType::bf16}, {5, 64, 700});
}

TEST(DecodeAttentionOfACache, SeeAWindowAndOneAnother) {
  expect_right({.queries = 4, .window = 100}, {0, 99, 772});
  expect_right({.keys = 4200, .queries = 2, .window = 1}, {0, 4099, 64});
}

/// Before a ring is full, when it is, and when what is seen lies at both of its ends.
TEST(DecodeAttentionOfACache, FindTheirWindowInARing) {
  for (const int64_t queries : {1, 4})
    for (const int64_t before : {0, 50, 300, 772, 776, 777, 800, 1200, 1553, 5000})
      expect_right({.queries = queries, .window = 100, .ring = true}, {before, 12, 780});
  expect_right({.keys = 4200, .dtype = DType::bf16, .window = 4000, .ring = true}, {4199, 0, 9000});
}

/// Lanes look up the numbers of a mask together.
TEST(DecodeAttentionOfACache, SeeTheKeysThatAMaskLeaves) {
  CachedAttention cache{.batch = 4, .keys = 3000, .masked = true};
  const auto module = module_of(cache);
  Tensors inputs = inputs_of(*module, {2999, 2999, 1500, 2999});
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

/// What a row's y is, alone and among others, in caches of two sizes.
Tensor row_of(const CachedAttention& cache, const Tensors& all, const std::vector<int64_t>& past,
              size_t row) {
  const auto module = module_of(cache);
  Tensors inputs = inputs_of(*module, past);
  for (const char* name : {"q", "k", "v"}) {  // the row's own, with anything behind what it sees
    const Tensor& from = all.at(name);
    Tensor& to = inputs.at(name);
    const size_t per_row = to.data.size() / past.size();
    std::copy_n(from.data.begin(), std::min(from.data.size(), per_row),
                to.data.begin() + static_cast<int64_t>(row * per_row));
  }
  Session session = session_of(*module, cache.dtype);
  Tensor y = testing::run_entry(session, "main", {}, inputs).at("y");
  const size_t per_row = y.data.size() / past.size();
  y.data = {y.data.begin() + static_cast<int64_t>(row * per_row),
            y.data.begin() + static_cast<int64_t>((row + 1) * per_row)};
  return y;
}

TEST(DecodeAttentionOfACache, HaveTheSameBitsAloneAndAmongOthers) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const CachedAttention cache{.batch = 3, .keys = 777, .dtype = dtype};
    CachedAttention larger = cache;
    larger.keys = 3000;
    const Tensors own = inputs_of(*module_of(cache), {500});
    const Tensor alone = row_of(cache, own, {500}, 0);
    EXPECT_EQ(row_of(cache, own, {0, 500, 776}, 1).data, alone.data);
    EXPECT_EQ(row_of(cache, own, {776, 776, 500}, 2).data, alone.data);
    EXPECT_EQ(row_of(larger, own, {2999, 500}, 1).data, alone.data);
  }
}

/// Keys behind the unit of the last that is seen are not read.
TEST(DecodeAttentionOfACache, DoNotReadWhatNoRowSees) {
  const CachedAttention cache{.batch = 2, .keys = 512};
  const auto module = module_of(cache);
  const std::vector<int64_t> past = {100, 300};
  Tensors inputs = inputs_of(*module, past);
  const Tensors expected =
      evaluate(*module->graphs[0], inputs, {}, {.symbols = {{"B", 2}}, .philox = {}}).outputs;
  for (const char* name : {"k", "v"}) {
    Tensor& tensor = inputs.at(name);
    const int64_t per_key = cache.key_heads * cache.width;
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t i = (past[static_cast<size_t>(row)] / 128 + 1) * 128 * per_key; i < cache.keys * per_key;
           ++i)
        tensor.data[static_cast<size_t>(row * cache.keys * per_key + i)] = NAN;
  }
  Session session = session_of(*module, DType::f32);
  const Tensors actual = testing::run_entry(session, "main", {}, inputs);
  EXPECT_LE(testing::relative_error(actual.at("y"), expected.at("y")), 1e-6);
}

// ---- keys in rows of a table

using testing::in_table;
using testing::kOfPages;
using testing::kOfRows;

/// Compares y with the exact attention of the same elements: the kernel computes in f32 and rounds the result
/// alone to the elements' type. Sums over up to 208 keys and 16 columns add less than 4e-6 of sum p |v|.
void expect_one_rounding(const Module& module, Session session, DType type) {
  const Graph& graph = *module.graphs.front();
  const SymbolValues symbols = {{"B", 3}};
  Tensors inputs = testing::random_inputs(graph, 5, symbols),
          states = testing::random_states(graph, 5, symbols);
  testing::round_to_type(inputs);
  testing::round_to_type(states);
  testing::write_states(session, states);
  const Tensor found = testing::run_entry(session, "main", {}, inputs).at("y");
  const auto exact = [&] {
    return evaluate(graph, inputs, states, {.symbols = symbols, .philox = {}}).outputs.at("y");
  };
  const Tensor expected = exact();
  for (double& v : states.at("v").data) v = std::abs(v);
  const Tensor sizes = exact();
  for (size_t i = 0; i < expected.data.size(); ++i) {
    const double bound = rounding_of(type) * std::abs(expected.data[i]) + 4e-6 * sizes.data[i];
    ASSERT_NEAR(found.data[i], expected.data[i], bound) << i;
  }
}

/// Nothing of the table is copied: it is the attention that follows the indices.
Plan few_in_table(const Module& module, DType storage) {
  CompileOptions options;
  options.storage = storage;
  Plan plan = few_on_host(module, options);
  for (const Step& step : plan.entries[0].steps)
    for (const int written : step.writes)
      EXPECT_LT(plan.buffers[static_cast<size_t>(written)].bytes, 3 * 200 * 2 * 16 * 2) << print(module);
  return plan;
}

/// On a CPU any number of queries follows indices, by blocks.
Plan blocks_in_table(const Module& module, DType storage) {
  CompileOptions options;
  options.storage = storage, options.mode = Mode::infer;
  Plan plan = compile(module.clone(), options).plan;
  const auto follows = [](const KernelCode& kernel) {
    return kernel.attention && kernel.attention->places >= 0;
  };
  EXPECT_TRUE(std::ranges::any_of(plan.kernels, follows));
  return plan;
}

void expect_rows_and_pages(Plan (*plan)(const Module&, DType), const char* type) {
  const DType storage = *parse_dtype(type);
  for (const auto& module :
       {in_table("5,200,2,16", 1000, "%rows: i32[B,200] {below = 5}", kOfRows, 200, type),
        in_table("50,16,2,16", 800, "%pages: i32[B,13] {below = 50}", kOfPages, 208, type)})
    expect_one_rounding(*module, testing::cpu_session(plan(*module, storage)), storage);
}

TEST(DecodeAttentionOfATable, FollowRowsAndPages) {
  for (const char* type : {"f32", "bf16"}) expect_rows_and_pages(few_in_table, type);
}

TEST(DecodeAttentionOfATable, FollowRowsAndPagesOnACpu) {
  for (const char* type : {"f32", "bf16", "f16"}) expect_rows_and_pages(blocks_in_table, type);
}

/// Numbers of rows that there are not are noticed, as every index is.
TEST(DecodeAttentionOfATable, NoticeIndicesThatAreNoRows) {
  const auto module = in_table("4,200,2,16", 800, "%rows: i32[B,200]", kOfRows, 200, "f32");
  Session session = session_of(*module, DType::f32);
  Tensors inputs = testing::random_inputs(*module->graphs[0], 3, {{"B", 2}});
  std::ranges::fill(inputs.at("rows").data, 3);
  EXPECT_NO_THROW(testing::run_entry(session, "main", {}, inputs));
  inputs.at("rows").data[7] = 4;
  EXPECT_THROW(testing::run_entry(session, "main", {}, inputs), Error);
}

}  // namespace
}  // namespace smelt
