// A plan for another architecture gives what one for this GPU gives; skipped where there is no GPU.
#include "tests/gpu/small_model.h"

namespace smelt {
namespace {

using GpuArchitecture = GpuTest;

TEST_F(GpuArchitecture, APlanForAnotherIsMadeAgain) {
  const int other = this_gpu() / 10 == 8 ? 90 : 80;
  Session native = small_model({}), foreign = small_model({}, small_plan(other));
  EXPECT_EQ(foreign.plan().target, "sm_" + std::to_string(other));
  for (int64_t step = 0; step < 4; ++step) {
    const auto expected = run(native, "train_step", 5, 33), found = run(foreign, "train_step", 5, 33);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-4 * std::abs(expected[i]));
  }
}

}  // namespace
}  // namespace smelt
