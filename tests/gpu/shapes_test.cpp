// One plan at many shapes, each uncaptured at first and a graph from then on; skipped where there is no GPU.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "compiler/compile.h"
#include "runtime/cuda/driver.h"
#include "runtime/session.h"

namespace smelt {
namespace {

constexpr int64_t kBatch = 8, kLength = 48, kIds = 64;

/// A small decoder with attention, which has products of every kind and sums over tokens.
Session small_model() {
  const Json spec = {{"family", "gpt2"},
                     {"vocab_size", kIds},
                     {"hidden", 48},
                     {"max_positions", kLength},
                     {"decoder", {{"layers", 2}, {"heads", 3}}}};
  CompileOptions options;
  options.target = "sm_" + std::to_string(cuda::Device::of_process().info().compute_capability);
  options.entries = {"train_step", "evaluate"};
  options.training.accumulation = false;
  options.build.bounds = {{{"B"}, kBatch}, {{"T"}, kLength}};
  const Description description{Description::Kind::spec, "test", spec_from_object(spec, "test"), nullptr,
                                Json::object(),          {}};
  Session session(std::make_shared<const Plan>(compile(description, options).plan),
                  SessionOptions{.poison = true});
  session.initialize(3);
  session.scalar("learning_rate") = 1e-3f;
  return session;
}

std::vector<float> run(Session& session, const std::string& entry, int64_t batch, int64_t length) {
  std::mt19937 random(static_cast<unsigned>(batch * 100 + length));
  std::vector<int32_t> ids(static_cast<size_t>(batch * length));
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % kIds);
  const InputTensor inputs[] = {{"input_ids", DType::i32, {batch, length}, ids.data()},
                                {"labels", DType::i32, {batch, length}, ids.data()}};
  std::vector<float> values;
  for (const HostTensor& output : session.run(entry, inputs)) values.push_back(output.as<float>()[0]);
  return values;
}

class GpuShapes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  }
};

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
