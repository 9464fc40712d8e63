// GEMMs whose sums are empty at the sizes of a run: their results are zeros, whatever lay there.
#include <functional>

#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

class EmptySums : public FakeGpu {
 protected:
  static std::vector<float> results_of(const std::function<void(GemmStep&)>& change) {
    Plan plan = linear_plan();
    change(std::get<GemmStep>(plan.entries[0].steps[0].what));
    const auto ready = session(plan, {.poison = true});
    std::vector<float> last;
    for (int run = 0; run < 3; ++run) last = train(*ready, run);  // the last one is a graph
    return last;
  }
};

TEST_F(EmptySums, NothingToSum) {
  EXPECT_EQ(results_of([](GemmStep& step) { step.k = 0; }), std::vector<float>(15, 0.0F));
  EXPECT_EQ(gpu().gemms, 0);
}

TEST_F(EmptySums, NoBatchToSumOver) {
  const auto found = results_of([](GemmStep& step) { step.batch = {{0, 0, 0, 0, true}}; });
  EXPECT_EQ(found, std::vector<float>(15, 0.0F));
}

TEST_F(EmptySums, NoProductAtAll) {
  EXPECT_NO_THROW(results_of([](GemmStep& step) { step.batch = {{0, 0, 0, 0}, {2, 0, 0, 0}}; }));
}

}  // namespace
}  // namespace smelt::fake
