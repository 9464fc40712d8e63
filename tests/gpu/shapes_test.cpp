// One plan at many shapes, each uncaptured at first and a graph from then on; skipped where there is no GPU.
#include <map>

#include "tests/gpu/small_model.h"

namespace smelt {
namespace {

using GpuShapes = GpuTest;

TEST_F(GpuShapes, AGraphGivesTheBitsOfItsFirstRun) {
  Session session = small_model();
  std::map<std::pair<int64_t, int64_t>, std::vector<float>> first;
  for (int round = 0; round < 3; ++round)
    for (int64_t batch = 1; batch <= kBatch; ++batch)
      for (int64_t length = 2; length < 28; ++length) {
        const std::vector<float> found = run(session, "evaluate", batch, length);
        const auto place = first.try_emplace({batch, length}, found).first;
        EXPECT_EQ(place->second, found) << batch << " x " << length << ", round " << round;
      }
  EXPECT_GE(first.size(), 200U);
}

TEST_F(GpuShapes, TrainingTwiceGivesTheSameBits) {
  std::vector<std::vector<float>> parameters;
  for (int time = 0; time < 2; ++time) {
    Session session = small_model();
    for (int64_t step = 0; step < 12; ++step) {
      session.set_random(7, step);
      run(session, "train_step", 1 + step % 3 * 2, 17 + step % 2 * 16);
    }
    const auto values = session.state_f32("parameters");
    parameters.emplace_back(values.begin(), values.end());
  }
  EXPECT_EQ(parameters[0], parameters[1]);
}

}  // namespace
}  // namespace smelt
