// A kernel that writes where no memory is, in a process of its own: the GPU is lost to that one. Skipped
// where there is no GPU.
#include <cstdio>
#include <cstdlib>

#include "runtime/base/error.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/gpu/small_model.h"

namespace smelt {
namespace {

class GpuFault : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process, not a fork of one with a context
  }

  /// The last kernel of train_step, which updates, does nothing in its first runs, and then breaks.
  static Plan broken_plan(int good_runs) {
    Plan plan = small_plan();
    const KernelStep* last = nullptr;
    for (const Step& step : plan.find_entry("train_step")->steps)
      if (const auto* launched = std::get_if<KernelStep>(&step.what)) last = launched;
    KernelCode& kernel = plan.kernels[static_cast<size_t>(last->kernel)];
    const std::string text = fmt::format(
        "__device__ int runs;\nextern \"C\" __global__ void {}() {{\n  if (threadIdx.x + blockIdx.x == 0 && "
        "atomicAdd(&runs, 1) >= {}) *(volatile int*)16 = 1;\n}}\n",
        kernel.name, good_runs);
    kernel.binary = compile_cuda(CudaSource{text, kernel.name}, this_gpu()).bytes;
    return plan;
  }

  /// Trains until something goes wrong, says what on stderr, and ends the process in the ordinary way.
  [[noreturn]] static void train_until_it_breaks(int good_runs, const SessionOptions& options) {
    try {
      Session session = small_model(options, broken_plan(good_runs));
      for (int step = 0; step < 100; ++step) run(session, "train_step", 5, 33);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    try {
      small_model();
    } catch (const Error& error) {
      std::fprintf(stderr, "again: %s\n", error.what());
    }
    std::exit(0);
  }
};

TEST_F(GpuFault, InTheFirstRunNamesTheStep) {
  EXPECT_EXIT(
      train_until_it_breaks(0, {}), ::testing::ExitedWithCode(0),
      "entry 'train_step' at B = 5, T = 33, step [0-9]+: kernel '.*writes.*CUDA_ERROR.*\n.*again: entry");
}

TEST_F(GpuFault, InAGraphNamesTheEntry) {
  EXPECT_EXIT(train_until_it_breaks(40, {}), ::testing::ExitedWithCode(0),
              "a fault in entry 'train_step' at B = 5");
}

TEST_F(GpuFault, CheckedStepsNameTheStepInAnyRun) {
  EXPECT_EXIT(train_until_it_breaks(40, {.check_steps = true}), ::testing::ExitedWithCode(0),
              "entry 'train_step' at B = 5, T = 33, step [0-9]+: kernel '");
}

}  // namespace
}  // namespace smelt
