// Sessions on a GPU whose memory, of the device and pinned, comes from the application.
#include <array>
#include <atomic>
#include <cstdlib>

#include "runtime/base/error.h"
#include "runtime/cuda/driver.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

/// y = x W^T alone, with weights of 4 MiB of which the matmul reads the first.
Plan plan_that_only_reads() {
  constexpr int64_t kWeights = int64_t{1} << 20;
  Plan plan = linear_plan();
  plan.entries[0].steps.pop_back();
  plan.kernels.clear();
  plan.states[0].shape = {Dim(kWeights)};
  plan.buffers[1].elements = kWeights, plan.buffers[1].bytes = kWeights * 4;
  return plan;
}

class Allocators : public FakeGpu {
 protected:
  /// Memory of the device is the driver's, so that the fake one knows it.
  std::shared_ptr<const Allocator> functions() {
    return std::make_shared<const Allocator>(
        Allocator{[this](MemoryKind kind, size_t bytes, size_t) { return give(kind, bytes); },
                  [this](MemoryKind kind, void* memory, size_t bytes) { take_back(kind, memory, bytes); }});
  }
  void* give(MemoryKind kind, size_t bytes) {
    bytes_[static_cast<size_t>(kind)] += static_cast<int64_t>(bytes);
    if (kind == MemoryKind::host) return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (kind == MemoryKind::pinned) return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    cuda::DevicePointer address = 0;
    cuda::driver().MemAlloc(&address, bytes);
    return reinterpret_cast<void*>(address);
  }
  void take_back(MemoryKind kind, void* memory, size_t bytes) {
    bytes_[static_cast<size_t>(kind)] -= static_cast<int64_t>(bytes);
    if (kind == MemoryKind::device)
      cuda::driver().MemFree(reinterpret_cast<cuda::DevicePointer>(memory));
    else
      std::free(memory);
  }
  int64_t bytes(MemoryKind kind) const { return bytes_[static_cast<size_t>(kind)]; }

  std::array<std::atomic<int64_t>, 3> bytes_ = {};
};

TEST_F(Allocators, GiveAllThatASessionTakesAndGetItBack) {
  {
    const auto expected = session(), counted = session(linear_plan(), {.allocator = functions()});
    const size_t before = gpu().used_bytes;
    EXPECT_GT(bytes(MemoryKind::device), executor_memory(counted->plan()).total());
    EXPECT_GT(bytes(MemoryKind::pinned), 0);
    for (int64_t step = 0; step < 3; ++step) EXPECT_EQ(train(*counted, step), train(*expected, step));
    EXPECT_EQ(weights(*counted), weights(*expected));
    EXPECT_GE(gpu().used_bytes, before);
  }
  for (const auto kind : {MemoryKind::host, MemoryKind::device, MemoryKind::pinned})
    EXPECT_EQ(bytes(kind), 0);
}

TEST_F(Allocators, EightSessionsThatShareWeightsTakeThemOnce) {
  const Plan plan = plan_that_only_reads();
  const auto plain = session(plan);
  auto first = session(plan, {.allocator = functions()});
  const std::vector<float> expected = train(*plain, 0);
  EXPECT_EQ(train(*first, 0), expected);
  const int64_t one = bytes(MemoryKind::device), weights = weight_bytes(plan);
  std::vector<std::unique_ptr<Session>> others;
  for (int i = 0; i < 7; ++i) EXPECT_EQ(train(*others.emplace_back(first->share()), 0), expected);
  EXPECT_EQ(bytes(MemoryKind::device), weights + 8 * (one - weights))
      << "all that is not weights, by session";
  first.reset();
  EXPECT_EQ(train(*others[0], 0), expected);
  others.clear();
  EXPECT_EQ(bytes(MemoryKind::device), 0);
}

/// An allocator's pool is not what the driver calls free.
TEST_F(Allocators, TheDriversFreeMemoryDoesNotMatter) {
  const auto plan = std::make_shared<const Plan>(linear_plan());
  gpu().total_bytes = 4096;
  EXPECT_HAS(message_of([&] { Session{plan}; }), "are free: compile it with lower bounds");
  EXPECT_HAS(message_of([&] {
               Session(plan, {.allocator = std::make_shared<const Allocator>(
                                  Allocator{[](MemoryKind, size_t, size_t) -> void* { return nullptr; },
                                            [](MemoryKind, void*, size_t) {}})});
             }),
             "the application's allocator has refused");
}

}  // namespace
}  // namespace smelt::fake
