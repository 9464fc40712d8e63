// A resumed run gets the bits of one that was never stopped, whatever timing would choose now.
#include "runtime/engine/training/checkpoint.h"

#include "runtime/cuda/gemm_choices.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

constexpr int64_t kSteps = 4;

class ResumedRun : public FakeGpu {
 protected:
  ResumedRun() { gpu().milliseconds_by_algorithm = {3, 1, 2}; }

  /// The weights after 2 x kSteps, with a checkpoint in the middle; some steps run uncaptured, some as
  /// graphs.
  std::vector<float> uninterrupted() {
    const auto whole = session();
    for (int64_t step = 0; step < kSteps; ++step) train(*whole, step, 5 + step % 2);
    write_checkpoint(file_, *whole, {kSteps, "{}", {}});
    return rest(*whole);
  }
  static std::vector<float> rest(Session& session) {
    for (int64_t step = kSteps; step < 2 * kSteps; ++step) train(session, step, 5 + step % 2);
    return weights(session);
  }
  /// A process that knows nothing, on a GPU where another algorithm is the fastest.
  std::vector<float> resumed(std::string* warning = nullptr) {
    gpu().milliseconds_by_algorithm = {1, 3, 2};
    std::filesystem::remove_all(cache_.path());
    const auto fresh = session();
    const CheckpointInfo info = read_checkpoint(file_, *fresh);
    if (warning) *warning = info.warning;
    return rest(*fresh);
  }
  const std::filesystem::path file_ = work_ / "c.safetensors";
};

TEST_F(ResumedRun, TakesTheRecordedAlgorithms) {
  const std::vector<float> expected = uninterrupted();
  std::string warning;
  EXPECT_EQ(resumed(&warning), expected);
  EXPECT_EQ(warning, "");
}

/// What the test above would miss if all algorithms gave the same bits.
TEST_F(ResumedRun, AlgorithmsHaveBitsOfTheirOwn) {
  const std::vector<float> expected = uninterrupted();
  gpu().library_version = 130200;
  std::string warning;
  EXPECT_NE(resumed(&warning), expected);
  EXPECT_HAS(warning, "made on Fake GPU with cuBLASLt 130100, this is Fake GPU with cuBLASLt 130200");
  EXPECT_HAS(warning, "may differ in their last bits");
}

TEST_F(ResumedRun, RecordsAgainWhatItWasGiven) {
  uninterrupted();
  const auto fresh = session();
  read_checkpoint(file_, *fresh);
  const std::string before = fresh->executor().choices();
  EXPECT_HAS(before, "\"Fake GPU\"");
  write_checkpoint(file_, *fresh, {kSteps, "{}", {}});
  const auto next = session();
  read_checkpoint(file_, *next);
  EXPECT_EQ(next->executor().choices(), before);
}

/// Entries that ran before the checkpoint was read have chosen already.
TEST_F(ResumedRun, AppliesToEntriesThatRanBefore) {
  const std::vector<float> expected = uninterrupted();
  gpu().milliseconds_by_algorithm = {1, 3, 2};
  std::filesystem::remove_all(cache_.path());
  const auto used = session();
  for (int64_t step = 0; step < 3; ++step) train(*used, step);
  read_checkpoint(file_, *used);
  EXPECT_EQ(rest(*used), expected);
}

}  // namespace
}  // namespace smelt::fake
