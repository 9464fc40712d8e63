// Which matmuls of a plan add in order, and which kernels these have.
#include <gtest/gtest.h>

#include "codegen/cuda/template_kernels.h"
#include "compiler/driver/compile.h"
#include "frontend/transformer_spec.h"

namespace smelt {
namespace {

CompileOptions options_of(const char* target, DType storage) {
  CompileOptions options;
  options.target = target, options.storage = storage, options.build.same_bits = true;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 32}};
  return options;
}

Program program_of(CompileOptions options) {
  const Json spec = {{"family", "gpt2"},
                     {"vocab_size", 67},
                     {"hidden", 32},
                     {"max_positions", 32},
                     {"decoder", {{"layers", 1}, {"heads", 2}}}};
  const Description gpt2{Description::Kind::spec, "test", spec_from_object(spec, "test"), nullptr,
                         Json::object(),          {}};
  return compile(gpt2, options, Stage::program).program;
}

template <typename Visit>
void for_each_gemm(const Program& program, const Visit& visit) {
  for (size_t e = 0; e < program.entries.size(); ++e)
    for (size_t s = 0; s < program.entries[e].steps.size(); ++s)
      if (const auto* gemm = std::get_if<GemmStep>(&program.entries[e].steps[s].what))
        visit(*gemm, program.entries[e].steps[s], e, s);
}

TEST(SameBitsPlans, ForwardMatmulsOf16BitsAddInOrder) {
  CompileOptions options = options_of("sm_90", DType::bf16);
  options.entries = {"train_step", "evaluate"};
  int forward = 0, others = 0;
  for_each_gemm(program_of(options), [&](const GemmStep& gemm, const Step& step, size_t, size_t) {
    EXPECT_EQ(gemm.in_order, step.phase == "forward") << step.sources.at(0);
    ++(gemm.in_order ? forward : others);
    EXPECT_TRUE(!gemm.in_order || (!gemm.bias && gemm.beta == 0)) << step.sources.at(0);
  });
  EXPECT_GE(forward, 8);
  EXPECT_GE(others, 8);
}

/// Products of the criterion's gradient, which follow the logits chunk by chunk in the forward phase, are
/// not.
TEST(SameBitsPlans, GradientsOfChunksDoNotAddInOrder) {
  CompileOptions options = options_of("sm_90", DType::bf16);
  options.entries = {"train_step"}, options.chunk_rows = 16;
  int logits = 0, gradients = 0;
  for_each_gemm(program_of(options), [&](const GemmStep& gemm, const Step& step, size_t, size_t) {
    if (step.phase == "forward" && step.sources.at(0) == "lm_head") ++(gemm.in_order ? logits : gradients);
  });
  EXPECT_GE(logits, 4);
  EXPECT_EQ(gradients, 2 * logits);
}

/// For any sizes: the last one of each step has no condition about alignments.
TEST(SameBitsPlans, EveryStepInOrderHasKernels) {
  CompileOptions options = options_of("sm_90", DType::f16);
  options.mode = Mode::infer;
  const Program program = program_of(options);
  std::map<std::pair<size_t, size_t>, std::vector<std::string>> kernels;
  for (const TemplateKernel& kernel : template_kernels(program, 90))
    for (const auto& place : kernel.steps) kernels[{place.entry, place.step}].push_back(kernel.code.name);
  for_each_gemm(program, [&](const GemmStep& gemm, const Step& step, size_t e, size_t s) {
    if (!gemm.in_order) return;
    const std::vector<std::string>& names = kernels[{e, s}];
    ASSERT_GE(names.size(), 2U) << step.sources.at(0);
    EXPECT_TRUE(
        std::ranges::all_of(names, [](const auto& name) { return name.starts_with("smelt_chain_"); }));
    EXPECT_TRUE(names.back().starts_with("smelt_chain_gemm_odd_f16_")) << names.back();
  });
}

}  // namespace
}  // namespace smelt
