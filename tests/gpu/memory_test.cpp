// A plan that no GPU holds; skipped where there is no GPU.
#include "runtime/base/error.h"
#include "tests/gpu/small_model.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using GpuMemory = GpuTest;

TEST_F(GpuMemory, PlannedAndFreeBytesAreNamedBeforeAnyIsTaken) {
  const size_t before = cuda::Device::open().free_bytes();
  Plan plan = small_plan();
  for (PlanEntry& entry : plan.entries) entry.arena_bytes = int64_t{1} << 50;
  const std::string message = message_of([&] { small_model({}, plan); });
  EXPECT_HAS(message, "the plan needs 1125899");  // and nine digits more
  EXPECT_HAS(message, "are free: compile it with lower bounds");
  EXPECT_EQ(cuda::Device::open().free_bytes(), before);
}

/// What a session takes it gives back.
TEST_F(GpuMemory, IsGivenBack) {
  run(*std::make_unique<Session>(small_model()), "train_step", 5, 33);  // whatever the libraries keep
  const size_t before = cuda::Device::open().free_bytes();
  for (int i = 0; i < 3; ++i) {
    Session session = small_model();
    for (int step = 0; step < 3; ++step) run(session, "train_step", 5, 33);
    EXPECT_LT(cuda::Device::open().free_bytes(), before);
  }
  constexpr size_t kKept = size_t{64} << 20;  // by the driver, for the next one
  EXPECT_GE(cuda::Device::open().free_bytes() + kKept, before);
}

}  // namespace
}  // namespace smelt
