// How many launches a GPU's plan takes for an update, whatever its rule, and that their code is lean.
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "frontend/description.h"
#include "ir/text/text.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/cuda/nvrtc.h"

namespace smelt {
namespace {

struct UpdateCase {
  Optimizer optimizer;
  double clip;
  DType storage;
  int most;
};

void PrintTo(const UpdateCase& c, std::ostream* out) {
  *out << static_cast<int>(c.optimizer) << ", clip " << c.clip << ", " << name(c.storage);
}

class UpdateLaunches : public ::testing::TestWithParam<UpdateCase> {
 protected:
  static Compilation compiled(std::vector<std::string> entries, Stage stage) {
    const UpdateCase& c = GetParam();
    CompileOptions options;
    options.target = "sm_90";
    options.storage = c.storage;
    options.training.optimizer.optimizer = c.optimizer;
    options.training.optimizer.clip_norm = c.clip;
    options.entries = std::move(entries);
    const auto directory = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/gpt2";
    return compile(read_description(directory), options, stage);
  }
};

/// Unscaling, the check for overflow, clipping, moments, parameters and their narrow copy.
TEST_P(UpdateLaunches, AreFew) {
  const Program program = compiled({"train_step", "apply"}, Stage::program).program;
  for (const PlanEntry& entry : program.entries) {
    const auto updates = llvm::count_if(entry.steps, [](const Step& s) { return s.phase == "update"; });
    EXPECT_LE(updates, GetParam().most) << entry.name;
    EXPECT_GE(updates, 1) << entry.name;
  }
}

/// The loss is finished by the launch that sums it up, and sums of every layer share launches.
TEST_P(UpdateLaunches, SumsAreFinishedTogether) {
  const Program program = compiled({"train_step"}, Stage::program).program;
  int finishes = 0, copies = 0;
  for (const Step& step : program.entries[0].steps) {
    const auto* launch = std::get_if<KernelStep>(&step.what);
    if (!launch) continue;
    const Kernel& kernel = program.kernels[static_cast<size_t>(launch->kernel)];
    const bool finish = kernel.name.find("finish") != std::string::npos;
    finishes += finish, copies += finish ? kernel.copies : 0;
    EXPECT_FALSE(finish && step.phase != "backward") << kernel.name;
  }
  EXPECT_GE(copies, 9);
  EXPECT_LE(finishes, 4);
}

TEST_P(UpdateLaunches, CompileWithoutSpills) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  for (const KernelCode& kernel : compiled({"apply"}, Stage::plan).plan.kernels)
    EXPECT_FALSE(kernel.binary.empty()) << kernel.name;
}

INSTANTIATE_TEST_SUITE_P(Rules, UpdateLaunches,
                         ::testing::Values(UpdateCase{Optimizer::adamw, 0, DType::f32, 2},
                                           UpdateCase{Optimizer::adamw, 1, DType::f32, 2},
                                           UpdateCase{Optimizer::adamw, 1, DType::bf16, 2},
                                           UpdateCase{Optimizer::adamw, 0, DType::f16, 2},
                                           UpdateCase{Optimizer::adamw, 1, DType::f16, 2},
                                           UpdateCase{Optimizer::sgd, 1, DType::f32, 2},
                                           UpdateCase{Optimizer::lion, 1, DType::bf16, 2},
                                           UpdateCase{Optimizer::schedule_free_adamw, 1, DType::bf16, 2},
                                           UpdateCase{Optimizer::lamb, 0, DType::f32, 4},
                                           UpdateCase{Optimizer::lamb, 1, DType::f32, 4},
                                           UpdateCase{Optimizer::lamb, 1, DType::f16, 4}));

/// A workspace is planned where more indices may be sorted than a GPU compares with one another.
TEST(SortLaunches, HaveAWorkspaceForManyIndices) {
  for (const auto& [target, most, elements] : std::vector<std::tuple<std::string, int, int64_t>>{
           {"cpu", 9000, 0}, {"sm_90", 4096, 0}, {"sm_90", 9000, 9000 + 2 * 5 * 32}}) {
    auto module = parse_module(fmt::format(R"(symbols B <= {}
graph @g(%i: i32[B], %t: f32[1000,7], %u: f32[B,7]) {{
  %s = scatter_add %t, %i, %u {{axis = 0}} : f32[1000,7]
  return s = %s
}})",
                                           most));
    CompileOptions options;
    options.target = target, options.mode = Mode::infer;
    const Program program = compile(std::move(module), options, Stage::program).program;
    int sorts = 0;
    for (const Step& step : program.entries[0].steps) {
      const auto* sort = std::get_if<SortIndexStep>(&step.what);
      if (!sort) continue;
      ++sorts;
      ASSERT_EQ(sort->workspace.has_value(), elements > 0);
      if (!sort->workspace) continue;
      EXPECT_EQ(program.symbols.upper(sort->workspace->elements), elements);
      EXPECT_EQ(program.buffers[static_cast<size_t>(sort->workspace->base.buffer)].role, Role::workspace);
    }
    EXPECT_EQ(sorts, 1);
  }
}

}  // namespace
}  // namespace smelt
