// File tests of passes over kernels: every .kernel file of this folder holds kernels as text, parted by lines
// "// -----", each with
//
//   // RUN: early_loads,row_barriers    passes of kernel_passes.def or of own_passes() below, in order
//   // CHECK...: text                   LLVM FileCheck directives for the printed kernel
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "codegen/all_passes.h"
#include "codegen/kernel_passes/kernel_passes.h"
#include "ir/program_verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
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

/// Those that take more than a kernel.
const std::map<std::string, void (*)(Kernel&), std::less<>>& own_passes() {
  static const std::map<std::string, void (*)(Kernel&), std::less<>> passes = {
      {"column_sums", sum_columns},
      {"keep_expensive_columns",
       [](Kernel& kernel) { keep_columns(kernel, {.expensive_only = true, .forward_stores = false}); }}};
  return passes;
}

void run_pass(Kernel& kernel, std::string_view name) {
  const auto own = own_passes().find(name);
  if (own != own_passes().end()) return own->second(kernel);
  const PassCall call = PassRegistry{codegen_pass_table()}.parse(name).at(0);
  std::get<std::function<bool(Kernel&)>>(call.body)(kernel);
  EXPECT_EQ(verify(kernel), std::vector<std::string>());
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
  for (const std::string& text : testing::parts_of(testing::read_file(GetParam()))) {
    const auto runs = testing::directives(text, "RUN");
    ASSERT_EQ(runs.size(), 1u) << "a part has one RUN line";
    ASSERT_NE(text.find("// CHECK"), std::string::npos) << "a part that checks nothing";
    Kernel kernel = parse_kernel(text, GetParam().string());
    llvm::SmallVector<llvm::StringRef, 4> names;
    llvm::StringRef(runs[0]).split(names, ',');
    for (const llvm::StringRef name : names) run_pass(kernel, name.trim());
    const std::string output = print(kernel);
    EXPECT_EQ(testing::check(GetParam().string(), text, output), "") << output;
    EXPECT_EQ(print(parse_kernel(output)), output);
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelPassFiles, ::testing::ValuesIn(files()),
                         [](const auto& p) { return p.param.stem().string(); });

TEST(KernelPassTable, EveryPassHasAFileTest) {
  for (const Pass& pass : codegen_pass_table()) {
    if (pass.unit != PassUnit::kernel) continue;
    const auto has_its_name = [&](const auto& path) { return path.stem().string() == pass.name; };
    const auto all = files();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), has_its_name)) << pass.name;
  }
}

/// Two softmaxes of a row: with no registers for either, nothing is kept.
TEST(KeepExponentials, SaysWhetherItKeptAny) {
  const Kernel kernel = parse_kernel(R"(kernel @two(%x: f32, out %y: f32, out %z: f32)
    parallel r0 = R, column c0 = 64 {
  column {
    %0 = load %x[r0*128 + c0] : f32
    %1 = reduce max_sumexp %0 : f32
    %2 = load %x[r0*128 + c0 + 64] : f32
    %3 = reduce max_sumexp %2 : f32
  }
  column {
    %4 = load %x[r0*128 + c0] : f32
    %5 = sub %4, %1 : f32
    %6 = exp %5 : f32
    store %y[r0*64 + c0] = %6 : f32
    %8 = load %x[r0*128 + c0 + 64] : f32
    %9 = sub %8, %3 : f32
    %10 = exp %9 : f32
    store %z[r0*64 + c0] = %10 : f32
  }
})");
  const auto kept = [&](int64_t most_reductions) {
    Kernel changed = kernel;
    const bool any = keep_exponentials(changed, most_reductions);
    EXPECT_EQ(any, print(changed) != print(kernel));
    return llvm::count_if(changed.instructions, [](const Instruction& x) { return x.form == Form::kept; });
  };
  EXPECT_EQ(kept(0), 0);
  EXPECT_EQ(kept(1), 1);
  EXPECT_EQ(kept(2), 2);
}

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
