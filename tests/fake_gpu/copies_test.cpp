// One launch that runs a kernel on several sets of arguments.
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

constexpr int kCopies = 3;

/// train_step ends with the kernel `descend` on three parts of the columns of y and W, in one launch.
Plan plan_with_copies() {
  Plan plan = linear_plan();
  plan.kernels[0].name = "descend_part";
  plan.kernels[0].copies = kCopies;
  plan.kernels[0].range = Dim(kIn);
  KernelStep& launch = std::get<KernelStep>(plan.entries[0].steps[1].what);
  launch.arguments.clear();
  for (int64_t o = 0; o < kOut; ++o) {
    launch.arguments.push_back({2, o});
    launch.arguments.push_back({1, o * kIn});
  }
  return plan;
}

class Copies : public FakeGpu {
 protected:
  Copies() {
    const size_t pointers = 2 * kCopies;
    gpu().kernels["descend_part"] = {pointers + 3, run, pointers};
  }
  static void run(const KernelCall& call) {
    EXPECT_EQ(call.copies, kCopies);
    EXPECT_EQ(call.blocks, 1u);
    const auto rows = call.argument<int64_t>(2 * kCopies + 1),
               range = call.argument<int64_t>(2 * kCopies + 2);
    EXPECT_EQ(range, kIn);
    for (size_t copy = 0; copy < call.copies; ++copy) {
      const auto* y = call.argument<const float*>(2 * copy);
      auto* w = call.argument<float*>(2 * copy + 1);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < kIn; ++i) w[i] -= y[r * kOut] / 100;
    }
  }
};

TEST_F(Copies, GiveWhatOneLaunchForEachWould) {
  const auto one = session(), many = session(plan_with_copies());
  for (int64_t step = 0; step < 4; ++step) EXPECT_EQ(train(*one, step), train(*many, step));
  EXPECT_EQ(weights(*one), weights(*many));
}

}  // namespace
}  // namespace smelt::fake
