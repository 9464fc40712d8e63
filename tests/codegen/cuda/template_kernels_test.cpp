// Launches of templates: the arguments and grids that the plan holds, at numbers.
#include <gtest/gtest.h>

#include "codegen/cuda/template_kernels.h"
#include "runtime/base/error.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_values.h"
#include "tests/codegen/program_player.h"

namespace smelt::test {
namespace {

using Argument = TemplateLaunch::Argument;

/// The scores of heads: [B,T,H,D] by [B,T,H,D] along D.
GemmStep scores(bool columns_together) {
  const Dim T = Dim::symbol("T"), row = 12 * 64;
  GemmStep step{{{0, 0}, row, 1}, {{1, 0}, 1, row}, {{2, 0}, T, 1}, T, 40, 64, 0.125};
  if (columns_together) step.c = {{2, 0}, 1, T};
  step.batch = {{Dim::symbol("B"), T * row, 40 * row, 12 * 40 * T}, {12, 64, 64, 40 * T}};
  step.dtype = DType::bf16, step.result_dtype = DType::f32;
  return step;
}

Program program_of(GemmStep gemm) {
  Program program;
  program.symbols.bound({"B"}, 8), program.symbols.bound({"T"}, 128);
  program.entries.resize(1);
  program.buffers.resize(6);
  program.entries[0].steps = {step_of(std::move(gemm), {0, 1}, {2})};
  return program;
}

struct Launched {
  std::vector<std::string> addresses;
  std::vector<int64_t> integers;
  int64_t blocks = 0, shared_bytes = 0;
  bool fits = true;
};

Launched launched(const KernelCode& kernel, const Step& step, int64_t batch, int64_t length) {
  const StepValues values = values_of(step);
  SymbolValues numbers;
  for (const auto& [name, dim] : values.integers) numbers[name] = dim.evaluate({{"B", batch}, {"T", length}});
  Launched result;
  for (const Argument& argument : kernel.launch->arguments) {
    if (argument.kind == Argument::Kind::address) result.addresses.push_back(argument.value.str());
    if (argument.kind == Argument::Kind::integer) result.integers.push_back(argument.value.evaluate(numbers));
  }
  result.blocks = kernel.launch->blocks.evaluate(numbers);
  result.shared_bytes = std::min(kernel.launch->shared_bytes.evaluate(numbers), kernel.shared_bytes);
  for (const TemplateLaunch::Condition& condition : kernel.launch->conditions) {
    const int64_t value = condition.value.evaluate(numbers);
    result.fits &= value % condition.divisor == 0 && value < condition.below;
  }
  return result;
}

TEST(TemplateKernels, BatchedGemm) {
  const Program program = program_of(scores(false));
  const std::vector<TemplateKernel> kernels = template_kernels(program);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].code.name, "smelt_gemm_bf16_f32_kk");
  const Launched found = launched(kernels[0].code, program.entries[0].steps[0], 5, 96);
  // m, n, k, pitches, inner, strides of the outer axis, then of the inner one
  EXPECT_EQ(found.integers, (std::vector<int64_t>{96, 40, 64, 768, 768, 96, 12, 96 * 768, 40 * 768,
                                                  12 * 40 * 96, 64, 64, 40 * 96}));
  EXPECT_EQ(found.addresses, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(found.blocks, 5 * 12 * 2 * 1);
  EXPECT_EQ(found.shared_bytes, 16384) << "one stage for one tile along k";
  EXPECT_TRUE(found.fits);
  EXPECT_FALSE(launched(kernels[0].code, program.entries[0].steps[0], 5, 97).fits) << "rows of 97 floats";
}

TEST(TemplateKernels, BatchedGemmWhoseColumnsLieTogether) {
  GemmStep gemm = scores(true);
  gemm.k = 200;
  const Program program = program_of(gemm);
  const KernelCode kernel = template_kernels(program).at(0).code;
  const Launched found = launched(kernel, program.entries[0].steps[0], 2, 128);
  EXPECT_EQ(found.integers, (std::vector<int64_t>{40, 128, 200, 768, 768, 128, 12, 40 * 768, 128 * 768,
                                                  12 * 40 * 128, 64, 64, 40 * 128}));
  EXPECT_EQ(found.shared_bytes, 32768) << "never more than two stages";
  EXPECT_TRUE(found.fits);
  gemm.b.row_stride = gemm.b.column_stride = 768;
  EXPECT_FALSE(launched(kernel, program_of(gemm).entries[0].steps[0], 2, 128).fits) << "no row lies together";
}

/// Groups of three heads whose second operand is one: its stride is 0.
TEST(TemplateKernels, BatchedGemmOfThreeAxes) {
  GemmStep gemm = scores(false);
  gemm.batch[1] = {4, 192, 64, 3 * 40 * Dim::symbol("T")};
  gemm.batch.push_back({3, 64, 0, 40 * Dim::symbol("T")});
  const Program program = program_of(gemm);
  const KernelCode kernel = template_kernels(program).at(0).code;
  EXPECT_EQ(kernel.name, "smelt_gemm_bf16_f32_kk_3");
  const Launched found = launched(kernel, program.entries[0].steps[0], 5, 96);
  EXPECT_EQ(found.integers, (std::vector<int64_t>{96, 40, 64, 768, 768, 96, 4, 3, 96 * 768, 40 * 768,
                                                  12 * 40 * 96, 192, 64, 3 * 40 * 96, 64, 0, 40 * 96}));
  EXPECT_EQ(found.blocks, 5 * 12 * 2 * 1);
  EXPECT_TRUE(found.fits);
}

TEST(TemplateKernels, BatchedGemmWithLongPitchesIsTheLibrarys) {
  GemmStep gemm = scores(false);
  gemm.a.row_stride = int64_t{1} << 24;
  const Program program = program_of(gemm);
  EXPECT_FALSE(launched(template_kernels(program).at(0).code, program.entries[0].steps[0], 1, 16).fits);
}

TEST(TemplateKernels, StepsNameTheirs) {
  Program program = program_of(scores(false));
  GemmStep plain = scores(false);
  plain.batch.clear();
  program.entries[0].steps.push_back(step_of(plain, {0, 1}, {2}));
  program.entries[0].steps.push_back(step_of(SortIndexStep{{3, 0}, {4, 0}, {5, 0}, 7, 9}, {3}, {4, 5}));
  program.entries[0].steps.push_back(step_of(ScanStep{{3, 0}, {4, 0}, 5, 9, 1, 9, 1, 9, 1}, {3}, {4}));
  program.entries[0].steps.push_back(step_of(TopKStep{{3, 0}, {4, 0}, {5, 0}, 5, 9, 9, 3}, {3}, {4, 5}));
  program.entries[0].steps.push_back(
      step_of(SampleStep{{3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, 5, 9, 9, 3, 4}, {3, 4, 5}, {6, 7}));
  Plan plan;
  plan.entries = program.entries;
  plan.kernels.resize(1);  // one of Kernel IR
  add_templates(plan, template_kernels(program));
  std::vector<std::vector<std::string>> names;
  for (const Step& step : plan.entries[0].steps) {
    names.emplace_back();
    for (const int kernel : step.kernels) names.back().push_back(plan.kernels.at(kernel).name);
  }
  EXPECT_EQ(names,
            (std::vector<std::vector<std::string>>{{"smelt_gemm_bf16_f32_kk"},
                                                   {},
                                                   {"smelt_sort_rank", "smelt_sort_begins"},
                                                   {"smelt_scan_columns_add_f32", "smelt_scan_rows_add_f32"},
                                                   {"smelt_top_3"},
                                                   {"smelt_sample"}}));
}

/// Of entries that keep tokens: whatever is launched may begin early, and says itself what it waits for.
TEST(TemplateKernels, OfEntriesThatKeepTokensWait) {
  Program program = program_of(scores(false));
  program.entries[0].steps.push_back(step_of(TopKStep{{3, 0}, {4, 0}, {5, 0}, 5, 9, 9, 3}, {3}, {4, 5}));
  for (const TemplateKernel& kernel : template_kernels(program)) EXPECT_FALSE(kernel.code.waits);
  program.buffers[4].role = Role::cache;
  std::vector<CudaSource> sources;
  for (const TemplateKernel& kernel : template_kernels(program)) {
    EXPECT_TRUE(kernel.code.waits) << kernel.code.name;
    const std::string& text = kernel.code.source;
    const size_t begin = text.find("__global__"), body = text.find('{', begin);
    EXPECT_EQ(text.find("sm_wait_for_launches();", begin), text.find("sm_wait_for_launches();", body));
    EXPECT_LT(text.find("sm_wait_for_launches();", begin) - body, 60u) << text.substr(begin);
    sources.push_back({text, kernel.code.name});
  }
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  EXPECT_EQ(compile_cuda(sources, 90).size(), 2u);
}

/// A copy of the driver's would let no kernel begin early.
TEST(TemplateKernels, SmallCopiesOfEntriesThatKeepTokensAreKernels) {
  Program program = program_of(scores(false));
  const Dim T = Dim::symbol("T");
  program.entries[0].steps = {
      step_of(CopyStep{{3, 0}, {4, 0}, {T, 40}, {40, 1}, {40, 1}, DType::bf16}, {3}, {4})};
  EXPECT_TRUE(template_kernels(program).empty());
  program.buffers[4].role = Role::cache;
  const KernelCode kernel = template_kernels(program).at(0).code;
  EXPECT_EQ(kernel.name, "smelt_copy_2_2");
  EXPECT_TRUE(kernel.waits);
  const Launched found = launched(kernel, program.entries[0].steps[0], 1, 100);
  EXPECT_EQ(found.addresses, (std::vector<std::string>{"from", "to"}));
  EXPECT_EQ(found.integers, (std::vector<int64_t>{4000}));
  EXPECT_EQ(found.blocks, 16);
  EXPECT_TRUE(found.fits);
  EXPECT_FALSE(launched(kernel, program.entries[0].steps[0], 1, 1000).fits)
      << "80,000 bytes are the driver's";
}

/// Sorts of few and of many indices share their first kernel and their last.
TEST(TemplateKernels, SortsOfManyIndicesHaveKernelsOfTheirOwn) {
  Program program = program_of(scores(false));
  program.entries[0].steps.clear();
  for (const int64_t count : {7, 5000, 600000})
    program.entries[0].steps.push_back(
        step_of(SortIndexStep{{3, 0}, {4, 0}, {5, 0}, count, 300}, {3}, {4, 5}));
  std::map<std::string, std::vector<size_t>> steps;
  std::vector<std::string> order;
  for (const TemplateKernel& kernel : template_kernels(program)) {
    order.push_back(kernel.code.name);
    for (const auto& place : kernel.steps) steps[kernel.code.name].push_back(place.step);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"smelt_sort_rank", "smelt_sort_count0_1x9_2048",
                                             "smelt_sort_place0_1x9_2048", "smelt_sort_count0_1x9_6144",
                                             "smelt_sort_place0_1x9_6144", "smelt_sort_begins"}));
  EXPECT_EQ(steps["smelt_sort_begins"], (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(steps["smelt_sort_place0_1x9_2048"], std::vector<size_t>{1});
}

TEST(TemplateKernels, APlanOfAnotherProgramIsAnError) {
  Plan plan;
  plan.entries.resize(1);
  EXPECT_THROW(add_templates(plan, template_kernels(program_of(scores(false)))), Error);
}

}  // namespace
}  // namespace smelt::test
