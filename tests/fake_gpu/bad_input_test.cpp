// A GPU that is too small, not there, or driven by something old.
#include <cstdio>

#include "runtime/base/error.h"
#include "runtime/cuda/gemm.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

/// What a process finds once, at its start, is tested in processes of its own.
class BadMachine : public FakeGpu {
 protected:
  BadMachine() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  /// Says on stderr what a session finds, and ends in the ordinary way.
  [[noreturn]] static void start() {
    try {
      train(*session(), 0);
      std::fprintf(stderr, "it runs\n");
    } catch (const Error& error) {
      std::fprintf(stderr, "status %d: %s\n", static_cast<int>(error.status()), error.what());
    }
    std::exit(0);
  }
};

#define EXPECT_START(change, expected) \
  EXPECT_EXIT(                         \
      {                                \
        change;                        \
        start();                       \
      },                               \
      ::testing::ExitedWithCode(0), expected)

TEST_F(BadMachine, AGoodOneRuns) { EXPECT_START({}, "^it runs"); }

TEST_F(BadMachine, WithoutAGpu) {
  EXPECT_START(gpu().count = 0,
               "status 7: the CUDA driver .*libcuda.so.1. does not start: no CUDA-capable device is "
               "detected; is there an NVIDIA GPU");
}

TEST_F(BadMachine, WithAnotherDeviceThanThereIs) {
  EXPECT_START(::setenv("SMELT_DEVICE", "1", 1), "SMELT_DEVICE is '1': expected the number of a GPU, 0 to 0");
  EXPECT_START(::setenv("SMELT_DEVICE", "one", 1), "SMELT_DEVICE is 'one'");
}

TEST_F(BadMachine, WithADriverOlderThanTheLibrary) {
  EXPECT_START(
      gpu().driver_version = 12040,
      "status 7: .*cuBLASLt 130100 .*libcublasLt.so.13. does not start on a driver for CUDA 12.4: status 1");
}

class SmallMemory : public FakeGpu {
 protected:
  /// What linear_plan needs: states, inputs four times, outputs, and the library's workspace.
  static constexpr size_t kPlanned = 12 * 4 + 4 * 256 + 256 + (size_t{32} << 20);
};

TEST_F(SmallMemory, PlannedAndFreeBytesAreNamedBeforeAnyIsTaken) {
  gpu().total_bytes = kPlanned - 1;
  const std::string message = message_of([] { session(); });
  EXPECT_HAS(message, fmt::format("the plan needs {} bytes of Fake GPU", kPlanned));
  EXPECT_HAS(message, fmt::format("but {} (", kPlanned - 1));
  EXPECT_HAS(message, "lower bounds");
  EXPECT_EQ(gpu().allocations, 0u);
}

TEST_F(SmallMemory, NoArenaIsTooLargeToBeNamed) {
  Plan plan = linear_plan();
  plan.entries[0].arena_bytes = int64_t{1} << 50;
  EXPECT_HAS(message_of([&] { session(plan); }), "the plan needs 1125899");
}

TEST_F(SmallMemory, OtherProcessesMayTakeWhatWasFree) {
  gpu().total_bytes = size_t{64} << 20;
  const auto ready = session();
  gpu().total_bytes = gpu().used_bytes + 1000;
  const std::string message = message_of([&] { train(*ready, 0); });
  EXPECT_HAS(message, "entry 'train_step' at B = 5, step 0");
  EXPECT_HAS(message, "33554432 bytes are wanted, 1000 of");
  gpu().total_bytes = size_t{64} << 20;
  EXPECT_EQ(train(*ready, 0).size(), 15u) << "and with memory it goes on";
}

/// What a first run could not have for a moment, the next one asks for again.
TEST_F(SmallMemory, AFirstRunThatFailedIsDoneAgain) {
  const auto ready = session(linear_plan());
  gpu().refuses_blocks_of = cuda::kGemmWorkspace;
  EXPECT_THROW(train(*ready, 0), Error);
  gpu().refuses_blocks_of = 0;
  for (int run = 0; run < 3; ++run) EXPECT_EQ(train(*ready, run).size(), 15u);
}

/// Measuring a GEMM that adds needs space to undo it.
TEST_F(SmallMemory, WithoutRoomToMeasureTheFirstAlgorithmIsTaken) {
  gpu().milliseconds_by_algorithm = {3, 1};
  Plan plan = linear_plan();
  std::get<GemmStep>(plan.entries[0].steps[0].what).beta = 1;
  plan.entries[0].steps[0].reads.push_back(2);
  gpu().total_bytes = size_t{64} << 20;
  const auto ready = session(plan);
  gpu().refuses_blocks_of = 15 * 4;
  train(*ready, 0);
  EXPECT_HAS(ready->executor().choices(), fmt::format("\"{:0128x}\"", 0));
}

}  // namespace
}  // namespace smelt::fake
