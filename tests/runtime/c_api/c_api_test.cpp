// The C interface over a plan that copies its input: the whole way from the file to the outputs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "runtime/system/file.h"
#include "tests/runtime/c_api/copy_plan.h"

namespace smelt {
namespace {

TEST_F(CApi, Introspects) {
  EXPECT_STREQ(smelt_version(), SMELT_VERSION);
  EXPECT_STREQ(smelt_plan_target(plan), "cpu");
  EXPECT_STREQ(smelt_plan_model(plan), R"({"vocab_size": 7})");
  EXPECT_GE(smelt_plan_memory_bytes(plan), 128);
  ASSERT_EQ(smelt_plan_entry_count(plan), 1u);
  EXPECT_STREQ(smelt_plan_entry_name(plan, 0), "run");
  EXPECT_EQ(smelt_plan_entry_name(plan, 1), nullptr);
  size_t count = 0;
  ASSERT_EQ(smelt_plan_input_count(plan, "run", &count), SMELT_OK);
  EXPECT_EQ(count, 1u);
  auto port = sized<smelt_port>();
  ASSERT_EQ(smelt_plan_output(plan, "run", 0, &port), SMELT_OK);
  EXPECT_STREQ(port.name, "y");
  EXPECT_EQ(port.dtype, SMELT_F32);
  EXPECT_STREQ(port.shape, "[B,3]");
  ASSERT_EQ(port.rank, 2);
  EXPECT_EQ(port.max_shape[0], 4);
  EXPECT_EQ(port.max_shape[1], 3);
  EXPECT_EQ(port.optional, 0);
  auto state = sized<smelt_state>();
  ASSERT_EQ(smelt_plan_state(plan, 0, &state), SMELT_OK);
  EXPECT_STREQ(state.role, "parameter");
  EXPECT_EQ(state.elements, 32);
  EXPECT_EQ(state.segment_count, 2u);
  auto segment = sized<smelt_segment>();
  ASSERT_EQ(smelt_plan_segment(plan, 0, 1, &segment), SMELT_OK);
  EXPECT_STREQ(segment.name, "b");
  EXPECT_EQ(segment.offset, 16);
  EXPECT_EQ(segment.shape[0], 4);
}

TEST_F(CApi, RunsAtEveryShapeUpToTheBounds) {
  for (int64_t rows = 1; rows <= 4; ++rows) {
    std::vector<float> x, y(12, NAN);
    for (int64_t i = 0; i < rows * 3; ++i) x.push_back(static_cast<float>(i) - 2.5f);
    const smelt_tensor input = tensor("x", {rows, 3}, x.data(), x.size() * 4);
    smelt_tensor output = tensor("y", {}, nullptr, 0);
    ASSERT_EQ(smelt_session_output_shapes(session, "run", &input, 1, &output, 1), SMELT_OK)
        << smelt_last_error();
    EXPECT_EQ(output.bytes, x.size() * 4);
    output.data = y.data();
    ASSERT_EQ(smelt_session_run(session, "run", &input, 1, &output, 1, nullptr), SMELT_OK)
        << smelt_last_error();
    ASSERT_EQ(output.rank, 2);
    EXPECT_EQ(output.shape[0], rows);
    EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * 4), 0);
    EXPECT_TRUE(rows == 4 || std::isnan(y[x.size()]));
  }
}

TEST_F(CApi, WeightsAreInitializedSavedLoadedAndRead) {
  ASSERT_EQ(smelt_session_initialize(session, 1), SMELT_OK);
  std::vector<float> first(32), second(32);
  ASSERT_EQ(smelt_session_read_state(session, "parameters", 0, first.data(), 128), SMELT_OK);
  EXPECT_NE(first[0], 0);
  EXPECT_EQ(first[16], 2);
  ASSERT_EQ(smelt_session_save_weights(session, (d / "w.safetensors").c_str()), SMELT_OK);
  const float five = 5;
  ASSERT_EQ(smelt_session_write_state(session, "parameters", 7, &five, 4), SMELT_OK);
  ASSERT_EQ(smelt_session_read_state(session, "parameters", 7, second.data(), 8), SMELT_OK);
  EXPECT_EQ(second[0], 5);
  EXPECT_EQ(second[1], first[8]);
  ASSERT_EQ(smelt_session_load_weights(session, (d / "w.safetensors").c_str()), SMELT_OK)
      << smelt_last_error();
  ASSERT_EQ(smelt_session_read_state(session, "parameters", 0, second.data(), 128), SMELT_OK);
  EXPECT_EQ(first, second);
}

TEST_F(CApi, FailuresAreAStatusAndAMessage) {
  float x[12] = {};
  smelt_tensor input = tensor("x", {1, 3}, x, sizeof x), output = tensor("y", {}, x, sizeof x);
  const auto run = [&] { return smelt_session_run(session, "run", &input, 1, &output, 1, nullptr); };
  ASSERT_EQ(run(), SMELT_OK);
  const auto expect = [](smelt_status got, smelt_status expected, const char* part) {
    EXPECT_EQ(got, expected);
    EXPECT_HAS(smelt_last_error(), part);
  };
  expect(smelt_session_run(session, "go", &input, 1, &output, 1, nullptr), SMELT_INVALID_ARGUMENT,
         "no entry 'go'");
  expect(smelt_session_run(session, nullptr, &input, 1, &output, 1, nullptr), SMELT_INVALID_ARGUMENT, "null");
  expect(smelt_session_run(nullptr, "run", &input, 1, &output, 1, nullptr), SMELT_INVALID_ARGUMENT,
         "session is null");
  expect(smelt_session_run(session, "run", nullptr, 1, &output, 1, nullptr), SMELT_INVALID_ARGUMENT, "null");
  expect(smelt_session_run(session, "run", &input, 1, nullptr, 1, nullptr), SMELT_INVALID_ARGUMENT, "null");
  expect(smelt_session_run(session, "run", &input, 0, &output, 1, nullptr), SMELT_INVALID_ARGUMENT,
         "'x': missing");
  input.shape[0] = 5;
  input.bytes = 60;
  expect(run(), SMELT_INVALID_ARGUMENT, "B");
  input.shape[0] = 4;
  input.bytes = 47;
  expect(run(), SMELT_INVALID_ARGUMENT, "47 bytes");
  input.bytes = 48;
  input.shape[0] = INT64_MAX;
  EXPECT_EQ(run(), SMELT_INVALID_ARGUMENT);
  input.shape[0] = 1;
  input.rank = 9;
  expect(run(), SMELT_INVALID_ARGUMENT, "rank 9");
  input.rank = 2;
  input.dtype = static_cast<smelt_dtype>(77);
  expect(run(), SMELT_INVALID_ARGUMENT, "77");
  input.dtype = SMELT_I32;
  expect(run(), SMELT_INVALID_ARGUMENT, "expected f32[B,3], given i32[1,3]");
  input.dtype = SMELT_F32;
  output.bytes = 8;
  expect(run(), SMELT_INVALID_ARGUMENT, "need 12 bytes");
  output.bytes = 48;
  output.name = "z";
  expect(run(), SMELT_INVALID_ARGUMENT, "no such output");
}

TEST_F(CApi, StatesAreBoundsChecked) {
  float values[40];
  const auto expect_outside = [&](const char* name, int64_t offset, size_t bytes, const char* part) {
    EXPECT_EQ(smelt_session_read_state(session, name, offset, values, bytes), SMELT_INVALID_ARGUMENT);
    EXPECT_HAS(smelt_last_error(), part);
    EXPECT_EQ(smelt_session_write_state(session, name, offset, values, bytes), SMELT_INVALID_ARGUMENT);
  };
  expect_outside("moments", 0, 4, "no state 'moments'");
  expect_outside("parameters", 0, 132, "32 elements");
  expect_outside("parameters", 32, 4, "from element 32");
  expect_outside("parameters", -1, 4, "from element -1");
  expect_outside("parameters", 0, 3, "3 bytes");
  expect_outside("parameters", INT64_MAX, SIZE_MAX - 3, "no part");
  EXPECT_EQ(smelt_session_read_state(session, "parameters", 32, nullptr, 0), SMELT_OK);
}

TEST_F(CApi, FilesThatAreMissingOrDamaged) {
  smelt_plan* other = nullptr;
  EXPECT_EQ(smelt_plan_load((d / "absent").c_str(), &other), SMELT_IO);
  EXPECT_HAS(smelt_last_error(), "absent");
  std::string bytes = read_text_file(d / "copy.plan");
  bytes.resize(bytes.size() / 2);
  EXPECT_EQ(smelt_plan_load(d.write("half.plan", bytes).c_str(), &other), SMELT_INVALID_FILE);
  EXPECT_HAS(smelt_last_error(), "half.plan");
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(smelt_session_load_weights(session, d.write("w.safetensors", "nonsense").c_str()),
            SMELT_INVALID_FILE);
  EXPECT_EQ(smelt_plan_load(nullptr, &other), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_plan_load("x", nullptr), SMELT_INVALID_ARGUMENT);
}

TEST_F(CApi, IntrospectionChecksIndices) {
  auto port = sized<smelt_port>();
  auto state = sized<smelt_state>();
  auto segment = sized<smelt_segment>();
  size_t count;
  EXPECT_EQ(smelt_plan_input(plan, "run", 1, &port), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_plan_input(plan, "x", 0, &port), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_plan_output(plan, "run", 0, nullptr), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_plan_input_count(nullptr, "run", &count), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_plan_state(plan, 1, &state), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_plan_segment(plan, 0, 2, &segment), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_plan_segment(plan, 9, 0, &segment), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_plan_entry_count(nullptr), 0u);
  EXPECT_EQ(smelt_dtype_size(static_cast<smelt_dtype>(-1)), 0u);
  EXPECT_STREQ(smelt_dtype_name(SMELT_BF16), "bf16");
  smelt_plan_free(nullptr);
  smelt_session_free(nullptr);
}

TEST_F(CApi, ErrorsBelongToTheirThreadAndSessionsRunSideBySide) {
  EXPECT_NE(smelt_session_initialize(nullptr, 0), SMELT_OK);
  const std::string mine = smelt_last_error();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      EXPECT_STREQ(smelt_last_error(), "");
      smelt_session* own = nullptr;
      ASSERT_EQ(smelt_session_create(plan, nullptr, &own), SMELT_OK);
      for (int i = 0; i < 200; ++i) {
        float x[3] = {static_cast<float>(t), static_cast<float>(i), 1}, y[3] = {};
        const smelt_tensor input = tensor("x", {1, 3}, x, sizeof x);
        smelt_tensor output = tensor("y", {}, y, sizeof y);
        ASSERT_EQ(smelt_session_run(own, "run", &input, 1, &output, 1, nullptr), SMELT_OK);
        ASSERT_EQ(std::memcmp(x, y, sizeof x), 0);
      }
      smelt_session_free(own);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mine, smelt_last_error());
}

TEST_F(CApi, ASessionOutlivesItsPlan) {
  smelt_plan_free(plan);
  plan = nullptr;
  float x[3] = {1, 2, 3}, y[3] = {};
  const smelt_tensor input = tensor("x", {1, 3}, x, sizeof x);
  smelt_tensor output = tensor("y", {}, y, sizeof y);
  ASSERT_EQ(smelt_session_run(session, "run", &input, 1, &output, 1, nullptr), SMELT_OK);
  EXPECT_EQ(y[2], 3);
}

}  // namespace
}  // namespace smelt
