// The ranges that a profiler sees: this program is one, in the way that NVTX offers for linked tools.
#include "runtime/cuda/nvtx.h"

#include "tests/fake_gpu/example.h"

namespace {

// What nvtx3/nvtxDetail/nvtxTypes.h declares, as far as it is used.
using GetTable = const void* (*)(uint32_t id);
using AnyFunction = void (*)();
struct Callbacks {
  size_t size;
  int (*get_functions)(int module, AnyFunction*** table, unsigned* count);
};
constexpr uint32_t kCallbacks = 1;
constexpr int kCore = 1, kRangePush = 9, kRangePop = 11;

/// "name(" for a beginning, ")" for an end: of this thread, since ranks of other tests are threads.
thread_local std::string timeline;

int begin_range(const char* name) {
  timeline += std::string(name) + "(";
  return 0;
}
int end_range() {
  timeline += ")";
  return 0;
}

int attach(GetTable get_table) {
  const auto* callbacks = static_cast<const Callbacks*>(get_table(kCallbacks));
  AnyFunction** functions = nullptr;
  unsigned count = 0;
  if (!callbacks || !callbacks->get_functions(kCore, &functions, &count)) return 0;
  *functions[kRangePush] = reinterpret_cast<AnyFunction>(begin_range);
  *functions[kRangePop] = reinterpret_cast<AnyFunction>(end_range);
  return 1;
}

}  // namespace

extern "C" {
int (*InitializeInjectionNvtx2_fnptr)(GetTable) = attach;
}

namespace smelt::fake {
namespace {

class Ranges : public FakeGpu {
 protected:
  void SetUp() override {
    if (cuda::nvtx_version() == 0) GTEST_SKIP() << "built without NVTX";
  }
};

TEST_F(Ranges, HaveTheNamesOfEntriesAndNodes) {
  const auto ready = session();
  const std::string by_step = "train_step(head.matmul()head.update, decay())";
  timeline.clear();
  train(*ready, 0);
  EXPECT_EQ(timeline, by_step) << "a run that is no graph";
  train(*ready, 1);
  timeline.clear();
  train(*ready, 2);
  EXPECT_EQ(timeline, "train_step()") << "a graph";
}

TEST_F(Ranges, OfProfiledRunsAreByStep) {
  const auto ready = session(linear_plan(), {.profile = true});
  for (int step = 0; step < 3; ++step) {
    timeline.clear();
    train(*ready, step);
    EXPECT_EQ(timeline, "train_step(head.matmul()head.update, decay())");
  }
  EXPECT_EQ(ready->executor().profile().size(), 2u);
  EXPECT_EQ(ready->executor().profile()[0].runs, 2) << "the first chose algorithms";
}

}  // namespace
}  // namespace smelt::fake
