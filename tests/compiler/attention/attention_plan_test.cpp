// Which kernels attention becomes on sm_90: those of its own instructions, or those of every architecture.
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "ir/graph/attention_body.h"
#include "passes/graph/autodiff/differentiate.h"
#include "runtime/cuda/nvrtc.h"

namespace smelt {
namespace {

/// y, and the gradients of q, k and v, of two heads of keys for four of queries.
struct Case {
  int64_t width = 64;
  std::function<void(AttentionWriter&, GraphBuilder&)> modify = {};
  std::string target = "sm_90";
  AttentionForm form = AttentionForm::wgmma;
  int64_t longest = 777;
};

std::unique_ptr<Module> module_of(const Case& c) {
  auto module = std::make_unique<Module>();
  module->symbols.bound({"B"}, 3), module->symbols.bound({"T"}, c.longest);
  Graph& graph = module->add_graph("main");
  GraphBuilder b(graph);
  const auto input = [&](const char* name, int64_t heads) {
    return b.input(name, {DType::f32, {Dim::symbol("B"), Dim::symbol("T"), heads, c.width}});
  };
  Value *q = input("q", 4), *k = input("k", 2), *v = input("v", 2);
  AttentionWriter writer(b, q, k, v, 0.125);
  if (c.modify) c.modify(writer, b);
  Node* attention = writer.finish();
  b.output("y", attention->result());
  b.output("f", b.sum(b.mul(attention->result(), b.input("w", attention->result()->type)), {0, 1, 2, 3}));
  differentiate(graph, {.output = "f", .wrt = {"q", "k", "v"}, .seed = 1});
  std::erase_if(graph.outputs, [](const Graph::Output& output) { return output.name == "f"; });
  return module;
}

Plan plan_of(const Case& c) {
  CompileOptions options;
  options.target = c.target, options.mode = Mode::infer, options.attention = c.form;
  options.storage = DType::bf16;
  return compile(module_of(c), options).plan;
}

std::vector<KernelCode> own_kernels(const Plan& plan) {
  std::vector<KernelCode> own;
  for (const KernelCode& kernel : plan.kernels)
    if (kernel.only_capability != 0) own.push_back(kernel);
  return own;
}

class AttentionPlan : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  }
};

TEST_F(AttentionPlan, KernelsOfSm90aReadByMaps) {
  const Plan plan = plan_of({});
  const std::vector<KernelCode> own = own_kernels(plan);
  ASSERT_EQ(own.size(), 3u) << "forward, dk and dv, dq";
  for (const KernelCode& kernel : own) EXPECT_EQ(kernel.only_capability, 90);
  EXPECT_EQ(own[0].maps.size(), 3u);
  EXPECT_EQ(own[1].maps.size(), 4u);
  EXPECT_EQ(own[2].maps.size(), 0u);
  EXPECT_EQ(own[0].most_blocks, 132) << "one a multiprocessor";
  EXPECT_EQ(own[1].most_blocks, 132);
  EXPECT_EQ(own[2].most_blocks, 0);
  const Dim places = Dim::symbol("T");
  for (const TensorMap& map : own[1].maps) {
    EXPECT_EQ(map.extents[0], Dim(64));
    EXPECT_EQ(map.extents[1], places);
    EXPECT_EQ(map.extents[3], Dim::symbol("B"));
    EXPECT_EQ(map.box[0], 64);
    EXPECT_EQ(map.swizzle_bytes, 128);
  }
  EXPECT_EQ(own[1].maps[0].extents[2], Dim(4)) << "q";
  EXPECT_EQ(own[1].maps[1].extents[2], Dim(2)) << "k";
}

/// The order in which tiles are added is counted in memory that must begin as zeros.
TEST_F(AttentionPlan, GradientsShareSumsAndCounters) {
  const Plan plan = plan_of({});
  std::vector<const KernelStep*> gradients;
  std::vector<int> filled;
  for (const Step& step : plan.entries[0].steps) {
    if (const auto* fill = std::get_if<FillStep>(&step.what)) filled.push_back(fill->to.buffer);
    const auto* launch = std::get_if<KernelStep>(&step.what);
    if (!launch || plan.kernels[static_cast<size_t>(launch->kernel)].only_capability == 0) continue;
    gradients.push_back(launch);
  }
  ASSERT_EQ(gradients.size(), 3u);
  const auto &keys = gradients[1]->arguments, &queries = gradients[2]->arguments;
  EXPECT_EQ(keys[8], queries[7]) << "sums";
  EXPECT_EQ(keys[9], queries[8]) << "counters";
  EXPECT_EQ(std::ranges::count(filled, keys[9].buffer), 1);
}

TEST_F(AttentionPlan, OtherwiseKernelsAreThoseOfEveryArchitecture) {
  EXPECT_EQ(own_kernels(plan_of({.width = 20})).size(), 0u) << "rows of 40 bytes";
  EXPECT_EQ(own_kernels(plan_of({.width = 256})).size(), 1u) << "forward alone";
  EXPECT_EQ(own_kernels(plan_of({.target = "sm_80"})).size(), 0u);
  EXPECT_EQ(own_kernels(plan_of({.form = AttentionForm::mma})).size(), 0u);
  const auto drop = [](AttentionWriter& writer, GraphBuilder&) { writer.mask_future(), writer.drop(0.1, 1); };
  EXPECT_EQ(own_kernels(plan_of({.modify = drop})).size(), 3u);
  const auto drop_twice = [](AttentionWriter& writer, GraphBuilder&) {
    writer.drop(0.1, 1), writer.drop(0.2, 2);
  };
  EXPECT_EQ(own_kernels(plan_of({.modify = drop_twice})).size(), 0u) << "one draw decides";
}

TEST_F(AttentionPlan, MeansHaveTheirRestOnlyWhereAGradientReadsIt) {
  CompileOptions options;
  options.target = "sm_90", options.mode = Mode::infer, options.attention = AttentionForm::fused;
  for (const DType storage : {DType::bf16, DType::f16, DType::f32})
    for (const bool has_gradient : {true, false}) {
      auto module = module_of({.width = 20});
      if (!has_gradient) module->graphs[0]->outputs.resize(1), module->graphs[0]->prune();
      options.storage = storage;
      const Compilation compiled = compile(std::move(module), options, Stage::program);
      bool with_rest = false;
      for (const Kernel& kernel : compiled.program.kernels)
        with_rest |= kernel.attention && kernel.attention->has_rest();
      EXPECT_EQ(with_rest, has_gradient && storage != DType::f32) << name(storage) << has_gradient;
    }
}

/// An argument that is read along queries and along keys has sums along both, of which a kernel makes each.
TEST_F(AttentionPlan, GradientsAreSummedAlongQueriesAndKeysByKernels) {
  auto module = std::make_unique<Module>();
  module->symbols.bound({"B"}, 3), module->symbols.bound({"T"}, 777);
  Graph& graph = module->add_graph("main");
  GraphBuilder b(graph);
  const Dim batch = Dim::symbol("B"), length = Dim::symbol("T");
  Value* heads = b.input("q", {DType::f32, {batch, length, 2, 64}});
  Value* places = b.input("a", {DType::f32, {batch, length}});
  AttentionWriter writer(b, heads, heads, heads, 0.125);
  Value *rows = writer.read(places, {0, 2}), *columns = writer.read(places, {0, 3});
  writer.modify([&](GraphBuilder& in, Value* score) { return in.add(score, in.mul(rows, columns)); });
  Node* attention = writer.finish();
  b.output("f", b.sum(b.mul(attention->result(), b.input("w", attention->result()->type)), {0, 1, 2, 3}));
  differentiate(graph, {.output = "f", .wrt = {"q", "a"}, .seed = 1});
  CompileOptions options;
  options.target = "sm_90", options.mode = Mode::infer, options.attention = AttentionForm::mma;
  options.storage = DType::bf16;
  const Compilation compiled = compile(std::move(module), options, Stage::program);
  int kernels = 0;
  for (const Kernel& kernel : compiled.program.kernels) {
    if (!kernel.attention) continue;
    ++kernels;
    EXPECT_EQ(kernel.attention->sums.size(), kernel.attention->part == AttentionPart::forward ? 0u : 1u);
  }
  EXPECT_EQ(kernels, 3) << "forward, dk and dv, dq";
}

/// The lanes of a warp ask for tiles of their own, and look the numbers of each up together.
TEST_F(AttentionPlan, NumbersOfMasksAreLookedUpByWarps) {
  const auto pack = [](AttentionWriter& writer, GraphBuilder& b) {
    Value* segments = b.input("segments", {DType::i32, {Dim::symbol("B"), Dim::symbol("T")}});
    writer.mask_segments(segments, segments);
  };
  const Plan plan = plan_of({.modify = pack});
  EXPECT_GE(own_kernels(plan).size(), 1u);
  EXPECT_NE(own_kernels(plan).size(), 2u) << "gradients have the same template";
  for (const KernelCode& kernel : plan.kernels) {
    const bool looks = kernel.source.find("TileRange tile_range") != std::string::npos;
    const bool by_lane = kernel.source.find("lane_range<kByLane>") != std::string::npos;
    EXPECT_TRUE(!looks || by_lane == (kernel.only_capability != 0)) << kernel.name;
  }
}

// ---- several kernels for one attention

using Names = std::vector<std::string>;

std::vector<Names> choices_of(const Plan& plan) {
  std::vector<Names> names;
  for (const Choice& choice : plan.entries[0].choices) names.push_back(choice.alternatives);
  return names;
}

TEST_F(AttentionPlan, AllThatTakeItAreAlternatives) {
  const Names mma = {"mma of 64 rows", "mma of 128 rows"},
              both = {"mma of 128 and 128 rows", "mma of 64 and 64 rows"};
  EXPECT_EQ(choices_of(plan_of({.target = "sm_80", .form = AttentionForm::fused})),
            (std::vector<Names>{mma, both}));
  const auto causal = [](AttentionWriter& writer, GraphBuilder&) { writer.mask_future(); };
  const std::vector<Names> own = choices_of(plan_of({.modify = causal, .form = AttentionForm::fused}));
  ASSERT_EQ(own.size(), 2u) << "forward and backward";
  EXPECT_EQ(own[0], (Names{"mma of 64 rows", "mma of 128 rows", "wgmma"}));
  EXPECT_EQ(own[1], (Names{"mma of 128 and 128 rows", "mma of 64 and 64 rows", "wgmma"}));
}

TEST_F(AttentionPlan, WhereThereIsOneKernelThereIsNothingToChoose) {
  for (const AttentionForm form : {AttentionForm::mma, AttentionForm::wgmma})
    EXPECT_EQ(choices_of(plan_of({.form = form})).size(), 0u);
  EXPECT_EQ(choices_of(plan_of({.target = "sm_80", .form = AttentionForm::fused, .longest = 64})).size(), 0u);
}

/// Alternatives have the same room, since one of them runs.
TEST_F(AttentionPlan, AlternativesNeedTheMemoryOfTheLargest) {
  const auto arena = [](AttentionForm form) { return plan_of({.form = form}).entries[0].arena_bytes; };
  const int64_t mma = arena(AttentionForm::mma), wgmma = arena(AttentionForm::wgmma);
  EXPECT_GT(wgmma, mma) << "sums of dq";
  // What an alternative reads stays until the last one: here the memory of one number a query, in whole 256
  // bytes.
  constexpr int64_t kRows = (3 * 4 * 777 * 4 + 255) / 256 * 256;
  EXPECT_LE(arena(AttentionForm::fused), wgmma + kRows);
}

TEST(AttentionMemory, OfTrainingIsThatOfTheLargestAlternative) {
  const Json spec = {{"family", "gpt2"},
                     {"vocab_size", 5000},
                     {"hidden", 256},
                     {"max_positions", 512},
                     {"decoder", {{"layers", 3}, {"heads", 4}}}};
  const auto arena = [&](AttentionForm form) {
    CompileOptions options;
    options.target = "sm_90", options.storage = DType::bf16, options.attention = form;
    options.gemm_epilogues = GemmEpilogues::off, options.entries = {"train_step"};
    options.build.bounds = {{{"B"}, 8}, {{"T"}, 512}};
    const Description description{Description::Kind::spec, "test", spec_from_object(spec, "test"), nullptr,
                                  Json::object(),          {}};
    const Program program = compile(description, options, Stage::program).program;
    EXPECT_EQ(program.entries[0].choices.size(), form == AttentionForm::fused ? 6u : 0u);
    return program.entries[0].arena_bytes;
  };
  EXPECT_EQ(arena(AttentionForm::fused), std::max(arena(AttentionForm::mma), arena(AttentionForm::wgmma)));
}

/// A body that would spill in some of them leaves the others.
TEST_F(AttentionPlan, AlternativesHaveNoSpills) {
  const auto modify = [](AttentionWriter& writer, GraphBuilder&) {
    writer.mask_future(), writer.drop(0.1, 1);
  };
  for (const int64_t width : {64, 128}) {
    const Plan plan = plan_of({.width = width, .modify = modify, .form = AttentionForm::fused});
    ASSERT_EQ(plan.entries[0].choices.size(), 2u);
    for (const Names& names : choices_of(plan)) EXPECT_GE(names.size(), 2u) << width;
    for (const KernelCode& kernel : plan.kernels) {
      if (kernel.source.find("attention(") == std::string::npos) continue;
      const CudaSource source{kernel.source, kernel.name, kernel.only_capability};
      EXPECT_TRUE(is_lean(compile_cuda(source, 90).resources)) << kernel.name;
    }
  }
}

TEST_F(AttentionPlan, WhatNoKernelTakesSaysWhy) {
  const auto refusals = [](const Case& c, DType storage) {
    CompileOptions options;
    options.target = c.target, options.mode = Mode::infer, options.attention = c.form;
    options.storage = storage, options.explain_fusion = true;
    std::string text;
    for (const auto& refusal : compile(module_of(c), options, Stage::program).fusions.refusals)
      text += refusal.composite + ": " + refusal.reason + "\n";
    return text;
  };
  EXPECT_NE(refusals({}, DType::f32).find("heads are stored as f32, and kernels take bf16 and f16"),
            std::string::npos);
  EXPECT_NE(refusals({.width = 264}, DType::bf16).find("kernels take equal widths up to 256"),
            std::string::npos);
  EXPECT_EQ(refusals({.form = AttentionForm::automatic, .longest = 100}, DType::bf16), "");
  EXPECT_NE(refusals({.target = "cpu", .form = AttentionForm::automatic, .longest = 100}, DType::f32)
                .find("up to 128 keys matmuls are as fast, and there are at most 100"),
            std::string::npos);
  EXPECT_EQ(refusals({}, DType::bf16), "");
}

}  // namespace
}  // namespace smelt
