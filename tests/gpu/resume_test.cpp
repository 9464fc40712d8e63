// A run that goes on from a checkpoint gets the bits of one that was never stopped, with nothing in the
// cache; skipped where there is no GPU.
#include <stdlib.h>

#include "runtime/engine/training/checkpoint.h"
#include "tests/gpu/small_model.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int64_t kSteps = 10;

class GpuResume : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    ::setenv("SMELT_CACHE_DIR", cache_.path().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("SMELT_CACHE_DIR"); }

  /// Steps of three shapes.
  static void train(Session& session, int64_t begin, int64_t end) {
    for (int64_t step = begin; step < end; ++step) {
      session.set_random(7, step);
      run(session, "train_step", 2 + step % 3 * 3, 17 + step % 3 * 15);
    }
  }
  static std::vector<std::byte> states(Session& session) {
    std::vector<std::byte> all;
    for (const State& state : session.plan().states) {
      const auto bytes = session.state(state.name);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }
  TemporaryDirectory cache_, work_;
};

TEST_F(GpuResume, GivesTheSameBits) {
  const auto file = work_ / "c.safetensors";
  std::string choices;
  std::vector<std::byte> expected;
  {
    Session whole = small_model();
    train(whole, 0, kSteps);
    write_checkpoint(file, whole, {kSteps, "{}", {}});
    choices = whole.executor().choices();
    train(whole, kSteps, 2 * kSteps);
    expected = states(whole);
  }
  EXPECT_HAS(choices, "algorithms");
  for (int round = 0; round < 3; ++round) {
    for (const auto& entry : std::filesystem::directory_iterator(cache_.path()))
      if (entry.path().extension() == ".json") std::filesystem::remove(entry.path());
    Session rest = small_model();
    EXPECT_EQ(read_checkpoint(file, rest).warning, "");
    EXPECT_EQ(rest.executor().choices(), choices);
    train(rest, kSteps, 2 * kSteps);
    EXPECT_TRUE(states(rest) == expected) << "round " << round;
    EXPECT_EQ(rest.executor().choices(), choices) << "nothing was measured again";
  }
}

}  // namespace
}  // namespace smelt
