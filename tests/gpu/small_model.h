// A small GPT-2 decoder that is compiled for this machine's GPU, and a fixture for tests that need a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/driver/compile.h"
#include "runtime/cuda/device.h"
#include "runtime/session/session.h"

namespace smelt {

/// Largest batch, largest sequence length, and size of the vocabulary.
inline constexpr int64_t kBatch = 8, kLength = 48, kIds = 64;

inline int this_gpu() { return cuda::Device::open().info().compute_capability; }

inline Description small_decoder(int layers = 2, int width = 48, int heads = 3) {
  const Json spec = {{"family", "gpt2"},
                     {"vocab_size", kIds},
                     {"hidden", width},
                     {"max_positions", kLength},
                     {"decoder", {{"layers", layers}, {"heads", heads}}}};
  return {Description::Kind::spec, "test", spec_from_object(spec, "test"), nullptr, Json::object(), {}};
}

/// Compiles small_decoder(). `accumulates`: compiles the entries for gradient accumulation.
inline Compilation small_compilation(int architecture, DType storage, bool tune, bool accumulates = false) {
  CompileOptions options;
  options.target = "sm_" + std::to_string(architecture);
  options.storage = storage;
  options.tune = tune;
  options.entries = {"train_step", "evaluate"};
  if (accumulates) options.entries = {"train_step", "accumulate", "apply"}, options.build.dropout = 0;
  options.training.accumulation = accumulates;
  options.build.bounds = {{{"B"}, kBatch}, {{"T"}, kLength}};
  return compile(small_decoder(), options);
}

inline Plan small_plan(int architecture = this_gpu(), DType storage = DType::f32) {
  return small_compilation(architecture, storage, false).plan;
}

inline Session small_model(const SessionOptions& options = {.poison = true}, Plan plan = small_plan()) {
  Session session(std::make_shared<const Plan>(std::move(plan)), options);
  session.initialize(3);
  session.scalar("learning_rate") = 1e-3f;
  return session;
}

/// Runs an entry with pseudo-random ids, and returns the first element of each output.
inline std::vector<float> run(Session& session, const std::string& entry, int64_t batch, int64_t length) {
  std::mt19937 random(static_cast<unsigned>(batch * 100 + length));
  std::vector<int32_t> ids(static_cast<size_t>(batch * length));
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % kIds);
  const InputTensor inputs[] = {{"input_ids", DType::i32, {batch, length}, ids.data()},
                                {"labels", DType::i32, {batch, length}, ids.data()}};
  std::vector<float> values;
  for (const HostTensor& output : session.run(entry, inputs)) values.push_back(output.as<float>()[0]);
  return values;
}

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  }
};

}  // namespace smelt
