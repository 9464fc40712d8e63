// The thread IR of every kernel of the golden models is valid.
#include <gtest/gtest.h>

#include <filesystem>

#include "codegen/gpu/lower/verify_kernel.h"
#include "compiler/driver/compile.h"
#include "frontend/description.h"

namespace smelt {
namespace {

struct ThreadIrCase {
  Mode mode;
  DType storage;
};

class ThreadIr : public ::testing::TestWithParam<ThreadIrCase> {};

/// Returns the program of a model; nothing if the model is refused, as encoders are for inference over a
/// cache.
std::optional<Program> program_of(const std::filesystem::path& model, const ThreadIrCase& c) {
  CompileOptions options;
  options.target = "sm_90";
  options.mode = c.mode, options.storage = c.storage;
  try {
    return compile(read_description(model), options, Stage::program).program;
  } catch (const Error& error) {
    EXPECT_NE(error.status(), Status::internal) << error.what();
    return {};
  }
}

TEST_P(ThreadIr, OfGoldenModelsIsValid) {
  int kernels = 0;
  for (const auto& model :
       std::filesystem::directory_iterator(std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens")) {
    const std::optional<Program> program = program_of(model.path(), GetParam());
    if (!program) continue;
    for (const Kernel& kernel : program->kernels) {
      EXPECT_EQ(gpu::verify_kernel(kernel), std::vector<std::string>()) << model.path() << " " << kernel.name;
      ++kernels;
    }
  }
  EXPECT_GT(kernels, 200);
}

INSTANTIATE_TEST_SUITE_P(Modes, ThreadIr,
                         ::testing::Values(ThreadIrCase{Mode::train, DType::bf16},
                                           ThreadIrCase{Mode::train, DType::f32},
                                           ThreadIrCase{Mode::infer, DType::f16}));

}  // namespace
}  // namespace smelt
