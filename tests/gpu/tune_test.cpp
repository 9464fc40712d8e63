// Schedules chosen by timing: as right as the default ones, and known the next time.
#include <stdlib.h>

#include <algorithm>

#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/kernel_trial.h"
#include "codegen/scheduling/schedule.h"
#include "runtime/base/error.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/gpu/small_model.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

class GpuTune : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    ::setenv("SMELT_CACHE_DIR", cache_.path().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("SMELT_CACHE_DIR"); }

  static std::vector<float> losses(Plan plan) {
    Session session = small_model({.poison = true}, std::move(plan));
    std::vector<float> all;
    for (int step = 0; step < 5; ++step) all.push_back(run(session, "train_step", kBatch, kLength)[0]);
    return all;
  }
  TemporaryDirectory cache_;
};

TEST_F(GpuTune, TrainsAlikeAndRemembers) {
  for (const DType storage : {DType::f32, DType::bf16}) {
    Compilation first = small_compilation(this_gpu(), storage, true);
    Compilation second = small_compilation(this_gpu(), storage, true);
    ASSERT_FALSE(first.tuned.empty());
    ASSERT_EQ(first.tuned.size(), second.tuned.size());
    for (size_t i = 0; i < first.tuned.size(); ++i) {
      EXPECT_GT(first.tuned[i].tried, 0) << first.tuned[i].name;
      EXPECT_EQ(second.tuned[i].tried, 0) << second.tuned[i].name;
      EXPECT_EQ(second.tuned[i].schedule, first.tuned[i].schedule);
    }
    const std::vector<float> tuned = losses(std::move(second.plan)),
                             plain = losses(small_plan(this_gpu(), storage));
    for (size_t i = 0; i < plain.size(); ++i)
      EXPECT_NEAR(tuned[i], plain[i], (storage == DType::f32 ? 1e-4 : 1e-2) * plain[i]);
  }
}

/// Interleaved, a block has other rows, and so other partial sums.
TEST_F(GpuTune, SumsOfBlocksAreComparedAsAWhole) {
  const Compilation compilation = small_compilation(this_gpu(), DType::f32, false);
  const SymbolValues values = {{"B", kBatch}, {"T", kLength}};
  int walks = 0;
  for (Kernel kernel : compilation.program.kernels) {
    kernel.copies = 1, kernel.tail.clear();
    if (kernel.schedule.splits == 0 || kernel.schedule.flat || !cuda::KernelTrial::is_possible(kernel))
      continue;
    cuda::KernelTrial trial(cuda::Device::open(), kernel, values);
    std::vector<std::vector<std::vector<float>>> results;
    for (const bool interleaved : {false, true}) {
      Schedule schedule = kernel.schedule;
      schedule.interleaved = interleaved;
      take_schedule(kernel, schedule);
      const Cubin cubin = compile_cuda(CudaSource{emit_cuda(kernel), kernel.name}, this_gpu());
      cuda::Module made = nullptr;
      cuda::check(cuda::driver().ModuleLoadData(&made, cubin.bytes.data()), "loading");
      const cuda::ModuleOwner module(made);
      cuda::Function function = nullptr;
      cuda::check(cuda::driver().ModuleGetFunction(&function, made, kernel.name.c_str()), "finding");
      results.push_back(trial.results(function, kernel.schedule));
    }
    for (size_t i = 0; i < results[0].size(); ++i) {
      float largest = 0;
      for (const float x : results[0][i]) largest = std::max(largest, std::fabs(x));
      for (size_t j = 0; j < results[0][i].size(); ++j)
        EXPECT_NEAR(results[0][i][j], results[1][i][j], 1e-3 * largest) << kernel.name << " output " << i;
    }
    ++walks;
  }
  EXPECT_GT(walks, 2);
}

TEST_F(GpuTune, ADamagedRecordIsMeasuredAgain) {
  const Compilation first = small_compilation(this_gpu(), DType::f32, true);
  for (const auto& entry : std::filesystem::directory_iterator(cache_.path()))
    if (entry.path().filename().string().starts_with("schedules")) std::filesystem::resize_file(entry, 10);
  const Compilation again = small_compilation(this_gpu(), DType::f32, true);
  ASSERT_FALSE(again.tuned.empty());
  EXPECT_GT(again.tuned[0].tried, 0);
}

TEST_F(GpuTune, AnotherArchitectureIsRefused) {
  EXPECT_THROW(small_compilation(this_gpu() == 80 ? 90 : 80, DType::f32, true), Error);
}

}  // namespace
}  // namespace smelt
