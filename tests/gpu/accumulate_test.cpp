// Gradients of small batches, added up in place by GEMMs with beta = 1 and by sums of rows, against those
// of one large batch; skipped where there is no GPU.
#include <algorithm>

#include "tests/gpu/small_model.h"

namespace smelt {
namespace {

using GpuAccumulation = GpuTest;

std::vector<float> values_of(const Session& session, const std::string& state) {
  const std::span<const std::byte> bytes = session.state(state);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, length = 0;
  for (size_t i = 0; i < a.size(); ++i) difference += std::pow(a[i] - b[i], 2), length += std::pow(b[i], 2);
  return std::sqrt(difference / length);
}

/// Rows [begin, end) of one batch.
void run_rows(Session& session, const std::string& entry, int64_t begin, int64_t end) {
  std::vector<int32_t> ids(static_cast<size_t>(kBatch * kLength));
  std::mt19937 random(7);
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % kIds);
  const int32_t* rows = ids.data() + begin * kLength;
  const InputTensor inputs[] = {{"input_ids", DType::i32, {end - begin, kLength}, rows},
                                {"labels", DType::i32, {end - begin, kLength}, rows}};
  session.run(entry, inputs);
}

TEST_F(GpuAccumulation, SmallBatchesEqualALargeOne) {
  const std::pair<DType, double> cases[] = {{DType::f32, 1e-3}, {DType::bf16, 2e-2}, {DType::f16, 4e-3}};
  for (const auto& [storage, bound] : cases) {
    const Plan plan = small_compilation(this_gpu(), storage, false, true).plan;
    Session whole = small_model({.poison = true}, plan), parts = small_model({.poison = true}, plan);
    for (int round = 0; round < 3; ++round) {  // the first uncaptured, and after zeros that an update left
      run_rows(whole, "train_step", 0, kBatch);
      run_rows(parts, "accumulate", 0, 3);
      run_rows(parts, "accumulate", 3, 4);
      run_rows(parts, "accumulate", 4, kBatch);
      parts.run("apply", {});
      EXPECT_LE(distance(values_of(parts, "adam.m"), values_of(whole, "adam.m")), bound)
          << name(storage) << ", update " << round;
      for (float left : values_of(parts, "gradients")) ASSERT_EQ(left, 0);
    }
  }
}

}  // namespace
}  // namespace smelt
