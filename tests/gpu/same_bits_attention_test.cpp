// Attention whose keys are in parts (Target::same_bits) on the GPU of this machine: a query has the same bits
// among all queries of a sequence, in training, in chunks, and alone; skipped where there is no GPU.
#include <fmt/format.h>

#include "runtime/cuda/device.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/same_bits_attention.h"
#include "tests/support/table_attention.h"

namespace smelt {
namespace {

using testing::SameBitsAttention;

class GpuSameBitsAttention : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  }

  static Session session_of(const Module& module, DType storage, AttentionForm form = AttentionForm::fused) {
    CompileOptions options;
    options.target = "native", options.mode = Mode::infer, options.storage = storage;
    options.attention = form, options.build.same_bits = true;
    return testing::cpu_session(compile(module.clone(), options).plan);
  }

  /// All queries at once in a session, after its alternatives have been measured.
  static Tensors run_all(Session& session, const Tensors& inputs) {
    testing::run_entry(session, "main", {}, inputs);
    return testing::run_entry(session, "main", {}, inputs);
  }

  static void expect_same_bits(const SameBitsAttention& c) {
    const auto module = testing::module_of(c);
    const Tensors inputs = testing::inputs_of(c, *module);
    Session session = session_of(*module, c.dtype);
    const Tensors all = run_all(session, inputs);
    const SymbolValues symbols = {{"B", c.batch}, {"T", c.queries}};
    const Tensors expected =
        evaluate(*module->graphs[0], inputs, {}, {.symbols = symbols, .philox = {}}).outputs;
    EXPECT_LE(testing::relative_error(all.at("y"), expected.at("y")), c.dtype == DType::bf16 ? 4e-3 : 6e-4)
        << c.name();
    Session tiles = session_of(*module, c.dtype, AttentionForm::mma);  // never few queries
    EXPECT_EQ(testing::differences(run_all(tiles, inputs), all, 0), 0) << c.name();
    for (const int64_t count : {1, 2, 3, 4, 16, 33, 64, 128, 200})
      for (int64_t begin = 0; begin + count <= c.queries; begin += count == 1 ? 7 : count) {
        const Tensors chunk = testing::chunk_of(inputs, begin, count);
        EXPECT_EQ(testing::differences(all, testing::run_entry(session, "main", {}, chunk), begin), 0)
            << count << " queries from " << begin << "; " << c.name();
        EXPECT_EQ(testing::differences(all, testing::run_entry(tiles, "main", {}, chunk), begin), 0)
            << count << " queries from " << begin << " in tiles; " << c.name();
      }
  }
};

TEST_F(GpuSameBitsAttention, MasksAndScores) {
  const SameBitsAttention usual{.queries = 700, .keys = 1000};
  std::vector<SameBitsAttention> cases(8, usual);
  cases[1].spread = 30, cases[2].window = 90, cases[3].masked = true, cases[4].documents = true;
  cases[5].distances = true, cases[6].cap = 2, cases[6].masked = true;
  cases[7].causal = false, cases[7].documents = true, cases[7].distances = true;
  for (const SameBitsAttention& c : cases) expect_same_bits(c);
}

TEST_F(GpuSameBitsAttention, HeadsGroupsAndTypes) {
  for (const int64_t group : {1, 2, 8, 16})
    expect_same_bits({.queries = 500, .keys = 600, .key_heads = 2, .group = group});
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const int64_t width : {12, 40, 64, 80, 96, 128, 256})
      expect_same_bits({.queries = 500, .keys = 600, .group = 2, .width = width, .dtype = dtype});
}

/// More parts than the blocks of a cluster have warps, and rows that alone keep the GPU busy.
TEST_F(GpuSameBitsAttention, LongCachesAndLargeBatches) {
  expect_same_bits({.batch = 1, .queries = 300, .keys = 300, .key_heads = 2, .width = 128});
  for (const int64_t batch : {1, 200}) {
    SameBitsAttention c{.batch = batch, .queries = 64, .keys = 6000, .width = 128, .causal = false};
    c.masked = true;
    const auto module = testing::module_of(c);
    const Tensors inputs = testing::inputs_of(c, *module);
    Session session = session_of(*module, c.dtype);
    const Tensors all = run_all(session, inputs);
    for (const int64_t count : {1, 2, 4})
      EXPECT_EQ(testing::differences(
                    all, testing::run_entry(session, "main", {}, testing::chunk_of(inputs, 7, count)), 7),
                0)
          << batch << " rows, " << count << " queries";
  }
}

/// A row among others in a batch, and alone.
TEST_F(GpuSameBitsAttention, PositionsInABatch) {
  const SameBitsAttention c{.batch = 5, .queries = 300, .keys = 400, .width = 128};
  const auto module = testing::module_of(c);
  const Tensors inputs = testing::inputs_of(c, *module);
  Session session = session_of(*module, c.dtype);
  const Tensors all = run_all(session, inputs);
  for (const int64_t row : {0, 3}) {
    Tensors alone = testing::chunk_of(inputs, 250, 1), expected = all;
    for (auto& [name, tensor] : alone) tensor = testing::part_of(tensor, 0, row, 1);
    for (auto& [name, tensor] : expected) tensor = testing::part_of(tensor, 0, row, 1);
    EXPECT_EQ(testing::differences(expected, testing::run_entry(session, "main", {}, alone), 250), 0) << row;
  }
}

/// The forward pass of training, which also stores the rounding residual of y, without a cache.
TEST_F(GpuSameBitsAttention, TrainingAndInference) {
  for (const int64_t width : {64, 128, 256}) {
    const SameBitsAttention c{.queries = 300, .keys = 300, .width = width};
    const auto module = testing::module_of(c), trained = testing::trained_module_of(c);
    Tensors inputs = testing::inputs_of(c, *module);
    Session inference = session_of(*module, c.dtype), training = session_of(*trained, c.dtype);
    const Tensors expected = run_all(inference, inputs);
    inputs["w"] = testing::random_inputs(*trained->graphs[0], 5, {{"B", c.batch}, {"T", c.queries}}).at("w");
    EXPECT_EQ(testing::differences(expected, run_all(training, inputs), 0), 0) << width;
  }
}

/// Keys in pages: in tiles of queries, and for few.
TEST_F(GpuSameBitsAttention, Tables) {
  const auto module_for = [](int64_t queries) {
    return testing::in_table("50,16,2,16", 800, "%pages: i32[B,13] {below = 50}", testing::kOfPages, 208,
                             "bf16", queries);
  };
  const auto whole = module_for(64);
  const Graph& graph = *whole->graphs.front();
  Tensors inputs = testing::random_inputs(graph, 5, {{"B", 3}}),
          states = testing::random_states(graph, 5, {{"B", 3}});
  testing::round_to_type(inputs), testing::round_to_type(states);
  inputs.at("past").data = {100, 3, 140};
  const auto outputs = [&](int64_t begin, int64_t queries) {
    Tensors own = inputs;
    own.at("q") = testing::part_of(inputs.at("q"), 1, begin, queries);
    for (double& x : own.at("past").data) x += static_cast<double>(begin);
    Session session = session_of(*module_for(queries), DType::bf16);
    testing::write_states(session, states);
    return run_all(session, own).at("y");
  };
  const Tensor all = outputs(0, 64);
  for (const int64_t queries : {1, 8, 40})
    for (const int64_t begin : {0, 17})
      EXPECT_EQ(outputs(begin, queries).data, testing::part_of(all, 1, begin, queries).data) << queries;
}

}  // namespace
}  // namespace smelt
