// GEMMs with 10 bits of mantissa: where a plan allows them, and by algorithms of their own.
#include <cmath>

#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

class Tf32 : public FakeGpu {
 protected:
  static Plan plan(bool allowed) {
    Plan made = linear_plan();
    std::get<GemmStep>(made.entries[0].steps[0].what).tf32 = allowed;
    return made;
  }
};

TEST_F(Tf32, OperandsLoseBitsWhereThePlanAllowsIt) {
  const auto exact = session(plan(false)), relaxed = session(plan(true));
  const std::vector<float> expected = train(*exact, 0), found = train(*relaxed, 0);
  double off = 0, square = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    off += std::pow(found[i] - expected[i], 2), square += std::pow(expected[i], 2);
  EXPECT_LT(std::sqrt(off / square), 1e-3);
  EXPECT_GT(std::sqrt(off / square), 1e-6);
}

TEST_F(Tf32, AlgorithmsAreChosenApart) {
  const auto exact = session(plan(false)), relaxed = session(plan(true));
  train(*exact, 0), train(*relaxed, 0);
  EXPECT_HAS(exact->executor().choices(), "\"f32>f32 ");
  EXPECT_HAS(relaxed->executor().choices(), "\"tf32>f32 ");
}

}  // namespace
}  // namespace smelt::fake
