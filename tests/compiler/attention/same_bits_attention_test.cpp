// Attention whose keys are in parts (Target::same_bits), run on the host: a query has the same bits in tiles
// of any number of queries, among few queries, and however blocks share its keys.
#include <fmt/format.h>

#include "runtime/cuda/nvrtc.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"
#include "tests/support/random_attention.h"
#include "tests/support/same_bits_attention.h"
#include "tests/support/table_attention.h"

namespace smelt {
namespace {

using testing::SameBitsAttention;

/// Changes the tiles of a kernel of attention.
using Change = llvm::function_ref<void(Kernel&)>;

Program program_of(const Module& module, DType storage, const char* target, AttentionForm form) {
  CompileOptions options;
  options.target = target, options.mode = Mode::infer, options.storage = storage;
  options.attention = form, options.build.same_bits = true;
  return compile(module.clone(), options, Stage::program).program;
}

Session session_of(Program program, Change change = [](Kernel&) {}) {
  for (Kernel& kernel : program.kernels)
    if (kernel.attention) change(kernel);
  return testing::cpu_session(test::plan_on_host(program));
}

/// A session whose only kernel has tiles of `rows` queries.
Session many_of(const Module& module, const SameBitsAttention& c, int warps, int row_tiles) {
  return session_of(program_of(module, c.dtype, "sm_90", AttentionForm::mma), [&](Kernel& kernel) {
    auto& tiles = std::get<AttentionTiles>(kernel.attention->tiles);
    EXPECT_GT(kernel.attention->part_keys, 0);
    tiles.warps = warps, tiles.row_tiles = row_tiles, kernel.schedule.threads = 32 * warps;
  });
}

/// A session that takes the template for few queries where queries are few.
Session few_of(const Module& module, const SameBitsAttention& c, const char* target, Change change) {
  int few = 0;
  Session session =
      session_of(program_of(module, c.dtype, target, AttentionForm::automatic), [&](Kernel& kernel) {
        EXPECT_GT(kernel.attention->part_keys, 0);
        if (kernel.attention->few()) ++few, change(kernel);
      });
  EXPECT_GT(few, 0);
  return session;
}

void expect_same(Session& session, const SameBitsAttention& c, const Tensors& inputs, const Tensors& all,
                 int64_t begin, int64_t count, const char* what) {
  const Tensors chunk = testing::run_entry(session, "main", {}, testing::chunk_of(inputs, begin, count));
  EXPECT_EQ(testing::differences(all, chunk, begin), 0)
      << what << ", queries " << begin << " to " << begin + count << "; " << c.name();
}

/// All ways to compute the queries of a sequence.
void expect_same_bits(const SameBitsAttention& c) {
  const auto module = testing::module_of(c);
  const Tensors inputs = testing::inputs_of(c, *module);
  Session tiles = many_of(*module, c, 4, 1);
  const Tensors all = testing::run_entry(tiles, "main", {}, inputs);
  const SymbolValues symbols = {{"B", c.batch}, {"T", c.queries}};
  const Tensors expected =
      evaluate(*module->graphs[0], inputs, {}, {.symbols = symbols, .philox = {}}).outputs;
  EXPECT_LE(testing::relative_error(all.at("y"), expected.at("y")), c.dtype == DType::bf16 ? 4e-3 : 6e-4)
      << c.name();
  expect_same(tiles, c, inputs, all, 5, 70, "a chunk in tiles of 64");
  Session narrow = many_of(*module, c, 1, 1);
  expect_same(narrow, c, inputs, all, 130, 100, "tiles of 16");
  if (c.width <= 128) {  // else there is too little shared memory
    Session wide = many_of(*module, c, 4, 2);
    expect_same(wide, c, inputs, all, 0, c.queries, "tiles of 128");
  }

  Session few = few_of(*module, c, "sm_90", [](Kernel&) {});
  for (int64_t count = 1; count * c.group <= 16; ++count)
    expect_same(few, c, inputs, all, c.queries - 16 - count, count, "few queries");
  for (const int64_t begin : {0, 1, 63, 64, 127, 128, 255, 256})
    if (begin < c.queries) expect_same(few, c, inputs, all, begin, 1, "one query");
  Session shared = few_of(*module, c, "sm_80", [](Kernel& kernel) {
    FewTiles tiles = *kernel.attention->few();
    tiles.parts = 2, tiles.loads = 1, tiles.rows = std::max(tiles.rows / 4, 1), tiles.tickets *= 4;
    kernel.attention->tiles = tiles;
  });
  expect_same(shared, c, inputs, all, c.queries - 3, 1, "two blocks with tickets");
  expect_same(shared, c, inputs, all, 100, std::max<int64_t>(1, 16 / c.group), "two blocks with tickets");
}

TEST(SameBitsAttentionOnHost, MasksAndScores) {
  expect_same_bits({});
  expect_same_bits({.spread = 30});
  expect_same_bits({.window = 90});
  expect_same_bits({.masked = true});
  expect_same_bits({.documents = true});
  expect_same_bits({.distances = true});
  expect_same_bits({.masked = true, .cap = 2});
  expect_same_bits({.causal = false, .documents = true, .distances = true});
}

TEST(SameBitsAttentionOnHost, HeadsAndGroups) {
  for (const int64_t group : {1, 8}) expect_same_bits({.key_heads = 2, .group = group});
  for (const int64_t width : {40, 80, 128, 256, 12})
    expect_same_bits({.batch = 1, .queries = 280, .keys = 290, .group = 2, .width = width, .window = 200});
  expect_same_bits({.dtype = DType::f16});
}

/// The forward pass of training also stores the rounding residual of y.
TEST(SameBitsAttentionOnHost, TrainingAndInference) {
  for (const int64_t width : {64, 256}) {
    const SameBitsAttention c{.batch = 1, .queries = 150, .keys = 150, .group = 2, .width = width};
    const auto module = testing::module_of(c), trained = testing::trained_module_of(c);
    Tensors inputs = testing::inputs_of(c, *module);
    Session inference = many_of(*module, c, 4, 1);
    const Tensors expected = testing::run_entry(inference, "main", {}, inputs);
    int with_rest = 0;
    Session training = session_of(program_of(*trained, c.dtype, "sm_90", AttentionForm::mma),
                                  [&](Kernel& kernel) { with_rest += kernel.attention->has_rest(); });
    EXPECT_EQ(with_rest, 1);
    inputs["w"] = testing::random_inputs(*trained->graphs[0], 5, {{"B", c.batch}, {"T", c.queries}}).at("w");
    EXPECT_EQ(testing::differences(expected, testing::run_entry(training, "main", {}, inputs), 0), 0);
  }
}

/// More parts of the keys than warps, which are computed in rounds.
TEST(SameBitsAttentionOnHost, RoundsOfParts) {
  const SameBitsAttention c{
      .batch = 1, .queries = 6, .keys = 1500, .group = 4, .causal = false, .masked = true, .distances = true};
  const auto module = testing::module_of(c);
  const Tensors inputs = testing::inputs_of(c, *module);
  Session tiles = many_of(*module, c, 4, 1);
  const Tensors all = testing::run_entry(tiles, "main", {}, inputs);
  for (const int blocks : {1, 2, 8}) {
    Session cluster = few_of(*module, c, "sm_90", [&](Kernel& kernel) {
      FewTiles tiles = *kernel.attention->few();
      tiles.parts = tiles.cluster = blocks;
      kernel.attention->tiles = tiles;
    });
    expect_same(cluster, c, inputs, all, 1, 4, "clusters");
    Session shared = few_of(*module, c, "sm_80", [&](Kernel& kernel) {
      FewTiles tiles = *kernel.attention->few();
      tiles.parts = blocks;
      kernel.attention->tiles = tiles;
    });
    expect_same(shared, c, inputs, all, 2, 3, "tickets");
  }
}

/// Random bodies: few queries in the template for them, and in tiles.
TEST(SameBitsAttentionOnHost, RandomBodies) {
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Module module;
    module.symbols.bound({"B"}, 2), module.symbols.bound({"T"}, 5);
    const int64_t group = 1 + static_cast<int64_t>(seed % 4);
    const testing::AttentionSizes sizes{
        Dim::symbol("B"), Dim::symbol("T"), seed % 3 == 0 ? 197 : 400, 2 * group, group, 24 + 8 * group};
    GraphBuilder b(module.add_graph("main"));
    Node* attention = testing::RandomAttention(b, sizes, seed, /*as_inputs=*/true).write();
    if (llvm::any_of(attention->body->nodes(), [](const auto& n) { return n->is(Op::random); })) continue;
    b.output("y", attention->result()), b.output("lse", attention->result(1));
    const SameBitsAttention c;
    Session tiles = many_of(module, c, 4, 1), few = few_of(module, c, "sm_90", [](Kernel&) {});
    for (const int64_t queries : {1, 3}) {
      const Tensors inputs = testing::random_inputs(*module.graphs[0], seed, {{"B", 2}, {"T", queries}}, 2);
      EXPECT_EQ(testing::differences(testing::run_entry(tiles, "main", {}, inputs),
                                     testing::run_entry(few, "main", {}, inputs), 0),
                0)
          << queries << " queries\n"
          << print(module);
    }
  }
}

/// Rows of tables, by few queries and by tiles.
TEST(SameBitsAttentionOnHost, Tables) {
  const auto outputs = [](int64_t queries, int64_t past) {
    const auto module = testing::in_table("50,16,2,16", 800, "%pages: i32[B,13] {below = 50}",
                                          testing::kOfPages, 208, "bf16", queries);
    const Graph& graph = *module->graphs.front();
    const auto long_module = testing::in_table("50,16,2,16", 800, "%pages: i32[B,13] {below = 50}",
                                               testing::kOfPages, 208, "bf16", 64);
    Tensors inputs = testing::random_inputs(*long_module->graphs.front(), 5, {{"B", 3}}),
            states = testing::random_states(graph, 5, {{"B", 3}});
    testing::round_to_type(inputs), testing::round_to_type(states);
    inputs.at("past").data = {100.0, 3.0, 140.0};
    for (double& x : inputs.at("past").data) x += static_cast<double>(past);
    inputs.at("q") = testing::part_of(inputs.at("q"), 1, past, queries);
    const auto follows = [](Kernel& kernel) { EXPECT_GE(kernel.attention->places, 0); };
    Session session =
        session_of(program_of(*module, DType::bf16, "sm_90", AttentionForm::automatic), follows);
    testing::write_states(session, states);
    return testing::run_entry(session, "main", {}, inputs).at("y");
  };
  const Tensor all = outputs(64, 0);
  for (const int64_t queries : {1, 8, 40})
    for (const int64_t past : {0, 17})
      EXPECT_EQ(outputs(queries, past).data, testing::part_of(all, 1, past, queries).data) << queries;
}

/// The attention kernels of a plan need registers alone. few_only: only those for few queries, because tiles
/// of many queries have lighter forms.
void expect_lean(const SameBitsAttention& c, const char* target, bool few_only) {
  for (const Kernel& kernel :
       program_of(*testing::module_of(c), c.dtype, target, AttentionForm::automatic).kernels) {
    if (!kernel.attention || (few_only && !kernel.attention->few())) continue;
    const CudaSource source{emit_cuda(kernel), kernel.name};
    const Cubin code = compile_cuda(source, parse_target(target).compute_capability);
    EXPECT_TRUE(is_lean(code.resources)) << target << ", " << c.name();
  }
}

TEST(SameBitsAttentionCode, IsLean) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  for (const char* target : {"sm_80", "sm_90"})
    for (const int64_t width : {64, 128, 256}) {
      SameBitsAttention c{.keys = 5000, .width = width, .window = 90};
      expect_lean(c, target, false);
      c.masked = c.documents = c.distances = true, c.cap = 2;
      expect_lean(c, target, true);
    }
}

}  // namespace
}  // namespace smelt
