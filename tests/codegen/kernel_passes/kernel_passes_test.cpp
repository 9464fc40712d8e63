// File tests of passes over kernels: every .kernel file of this folder holds kernels as text, parted by lines
// "// -----", each with
//
//   // RUN: early_loads,row_barriers    passes, in order
//   // CHECK...: text                   LLVM FileCheck directives for the printed kernel
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "codegen/kernel_passes/collapse_axes.h"
#include "codegen/kernel_passes/column_sums.h"
#include "codegen/kernel_passes/keep_columns.h"
#include "codegen/kernel_passes/legalize.h"
#include "codegen/kernel_passes/row_barriers.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/error.h"
#include "tests/support/file_check.h"

namespace smelt {
namespace {

/// Sums that go to f32 or bf16 in the order of their columns, by what a partial parameter is called.
void sum_columns(Kernel& kernel) {
  std::vector<ColumnSum> sums;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (!kernel.params[i].partial) continue;
    ColumnSum sum{static_cast<int>(i), DType::f32, std::vector<Dim>(kernel.axes.size(), Dim(0))};
    if (kernel.params[i].name.starts_with("rounded")) sum.dtype = DType::bf16;
    sum.strides.back() = 1;
    sums.push_back(std::move(sum));
  }
  sum_columns_in_tiles(kernel, sums);
}

std::map<std::string, void (*)(Kernel&), std::less<>> passes_by_name() {
  std::map<std::string, void (*)(Kernel&), std::less<>> passes;
  for (const KernelPass& pass : gpu_kernel_passes()) passes.emplace(pass.name, pass.run);
  passes["collapse_axes"] = collapse_axes;
  passes["keep_columns"] = [](Kernel& k) { keep_columns(k); };
  passes["keep_expensive_columns"] = [](Kernel& k) {
    keep_columns(k, {.expensive_only = true, .forward_stores = false});
  };
  passes["column_sums"] = sum_columns;
  passes["legalize_for_gpu"] = legalize_for_gpu;
  return passes;
}

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> all;
  for (const auto& entry :
       std::filesystem::directory_iterator(SMELT_SOURCE_DIR "/tests/codegen/kernel_passes"))
    if (entry.path().extension() == ".kernel") all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

class KernelPassFiles : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(KernelPassFiles, Pass) {
  const auto passes = passes_by_name();
  for (const std::string& text : testing::parts_of(testing::read_file(GetParam()))) {
    const auto runs = testing::directives(text, "RUN");
    ASSERT_EQ(runs.size(), 1u) << "a part has one RUN line";
    ASSERT_NE(text.find("// CHECK"), std::string::npos) << "a part that checks nothing";
    Kernel kernel = parse_kernel(text, GetParam().string());
    llvm::SmallVector<llvm::StringRef, 4> names;
    llvm::StringRef(runs[0]).split(names, ',');
    for (const llvm::StringRef name : names) {
      const auto pass = passes.find(std::string_view(name.trim()));
      ASSERT_NE(pass, passes.end()) << "there is no pass " << name.str();
      pass->second(kernel);
    }
    const std::string output = print(kernel);
    EXPECT_EQ(testing::check(GetParam().string(), text, output), "") << output;
    EXPECT_EQ(print(parse_kernel(output)), output);
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelPassFiles, ::testing::ValuesIn(files()),
                         [](const auto& p) { return p.param.stem().string(); });

/// What one schedule entailed does not outlive it.
TEST(LegalizeForGpu, DecidesAnew) {
  Kernel kernel = parse_kernel(testing::parts_of(
      testing::read_file(SMELT_SOURCE_DIR "/tests/codegen/kernel_passes/legalize.kernel"))[0]);
  const Schedule first = kernel.schedule;
  legalize_for_gpu(kernel);
  const Kernel once = kernel;
  legalize_for_gpu(kernel);
  EXPECT_EQ(print(kernel), print(once));
  kernel.schedule.vectors = 0;
  legalize_for_gpu(kernel);
  EXPECT_EQ(print(kernel).find(".kept"), std::string::npos);
  kernel.schedule = first;
  legalize_for_gpu(kernel);
  EXPECT_EQ(print(kernel), print(once));
}

}  // namespace
}  // namespace smelt
