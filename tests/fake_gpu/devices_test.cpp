// Several GPUs in one process: each session works on its own, in memory, with code and handles of that GPU.
#include "runtime/base/error.h"
#include "runtime/cuda/device.h"
#include "tests/fake_gpu/example.h"
#include "tests/fake_gpu/other_process.h"

namespace smelt::fake {
namespace {

constexpr int64_t kDeviceSteps = 5;

class Devices : public FakeGpu {
 protected:
  Devices() {
    gpu(0).count = 2;
    gpu(0).milliseconds_by_algorithm = {2, 1};  // each algorithm has bits of its own
    gpu(1).milliseconds_by_algorithm = {1, 2};
    gpu(1).name = "Other Fake GPU";
  }
  static std::unique_ptr<Session> on(int device) { return session(linear_plan(), {.device = device}); }
  /// What a session trains alone, on numbers that begin at `first`.
  static std::vector<float> alone(int device, int64_t first) {
    const auto single = on(device);
    for (int64_t step = 0; step < kDeviceSteps; ++step) train(*single, first + step);
    return weights(*single);
  }
};

TEST_F(Devices, TwoSessionsOfOneThreadDoNotMix) {
  const std::vector<float> expected[] = {alone(0, 0), alone(1, 100)};
  EXPECT_NE(expected[0], expected[1]);
  const auto first = on(0), second = on(1);
  for (int64_t step = 0; step < kDeviceSteps; ++step) train(*first, step), train(*second, 100 + step);
  EXPECT_EQ(weights(*first), expected[0]);
  EXPECT_EQ(weights(*second), expected[1]);
  EXPECT_GT(gpu(0).graph_launches, 0);
  EXPECT_GT(gpu(1).graph_launches, 0);
}

TEST_F(Devices, AThreadBeginsWithNothingCurrent) {
  const std::vector<float> expected[] = {alone(0, 0), alone(1, 100)};
  std::vector<float> found[2];
  std::thread one([&] { found[0] = alone(0, 0); });
  one.join();  // the fake GPUs take one call at a time
  std::thread other([&] { found[1] = alone(1, 100); });
  other.join();
  EXPECT_EQ(found[0], expected[0]);
  EXPECT_EQ(found[1], expected[1]);
}

TEST_F(Devices, MemoryIsTakenFromAndGivenBackToItsOwn) {
  const size_t before = gpu(0).used_bytes;
  auto first = on(0), second = on(1);
  EXPECT_GT(gpu(1).used_bytes, 0u);
  EXPECT_EQ(gpu(0).used_bytes - before, gpu(1).used_bytes);
  train(*second, 0), train(*first, 0);
  second.reset();  // while the other is current
  EXPECT_EQ(gpu(1).blocks_in_use, 0u);
  train(*first, 1);
  first.reset();
  EXPECT_EQ(gpu(0).blocks_in_use, 0u);
}

TEST_F(Devices, ChoicesOfAlgorithmsAreOfADevice) {
  const auto first = on(0), second = on(1);
  train(*first, 0), train(*second, 0);
  EXPECT_HAS(first->executor().choices(), "\"Fake GPU\"");
  EXPECT_HAS(second->executor().choices(), "\"Other Fake GPU\"");
  EXPECT_HAS(second->executor().restore_choices(first->executor().choices()),
             "they were made on Fake GPU with cuBLASLt 130100, this is Other Fake GPU");
}

TEST_F(Devices, TheDefaultIsThatOfTheVariable) {
  ::setenv("SMELT_DEVICE", "1", 1);
  const size_t before = gpu(0).allocations;
  train(*session(), 0);
  EXPECT_EQ(gpu(0).allocations, before);
  EXPECT_GT(gpu(1).allocations, 0u);
  ::setenv("SMELT_DEVICE", "2", 1);
  EXPECT_HAS(message_of([] { session(); }), "SMELT_DEVICE is '2': expected the number of a GPU, 0 to 1");
  train(*on(0), 0);  // an option goes before it
  EXPECT_GT(gpu(0).allocations, before);
  ::unsetenv("SMELT_DEVICE");
}

TEST_F(Devices, OneThatIsNotThereIsRefused) {
  EXPECT_HAS(message_of([] { on(2); }), "there is no GPU 2: expected the number of one, 0 to 1");
  EXPECT_HAS(message_of([] { on(-7); }), "there is no GPU -7");
}

TEST_F(Devices, AFaultOnOneLeavesTheOther) {
  in_another_process([] {
    gpu(1).kernels["descend"].run = [](const KernelCall&) { gpu(1).fault = 700; };
    const auto good = on(0), broken = on(1);
    EXPECT_HAS(message_of([&] { train(*broken, 0); }), "that GPU is lost to this process");
    EXPECT_HAS(message_of([] { on(1); }), "that GPU is lost to this process");
    for (int64_t step = 0; step < kDeviceSteps; ++step) train(*good, step);
    EXPECT_EQ(weights(*good), alone(0, 0));
  });
}

TEST_F(Devices, TellWhatTheyAre) {
  gpu(1).multiprocessors = 78, gpu(1).capability = 80;
  const cuda::DeviceInfo info = cuda::device_info(1);
  EXPECT_EQ(info.name, "Other Fake GPU");
  EXPECT_EQ(info.compute_capability, 80);
  EXPECT_EQ(info.model.multiprocessors, 78);
  EXPECT_EQ(info.model.warp_threads, 32);
  EXPECT_EQ(info.model.l2_bytes, int64_t{50} << 20);
  EXPECT_NEAR(info.model.memory_bytes_per_second, 3.35e12, 0.01e12);
}

}  // namespace
}  // namespace smelt::fake
