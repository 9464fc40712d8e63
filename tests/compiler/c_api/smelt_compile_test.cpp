// The compiler's C interface: from a description to a plan that runs.
#include "compiler/c_api/smelt_compile.h"

#include <gtest/gtest.h>

#include "tests/runtime/c_api/sized.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

class CompileCApi : public testing::Test {
 protected:
  ~CompileCApi() override { smelt_compiled_free(compiled_); }
  smelt_status compile(const std::filesystem::path& path, const std::vector<const char*>& options) {
    return smelt_compile(path.c_str(), options.data(), options.size(), &compiled_);
  }
  void expect_refused(const std::vector<const char*>& options, const char* part) {
    EXPECT_EQ(compile(model_, options), SMELT_INVALID_ARGUMENT);
    EXPECT_HAS(smelt_compile_last_error(), part);
    EXPECT_EQ(compiled_, nullptr);
  }

  TemporaryDirectory d_;
  std::filesystem::path model_ = d_.write("model.ir",
                                          "symbols N <= 8\n"
                                          "graph @double(%x: f32[N]) {\n"
                                          "  %y = add %x, %x\n"
                                          "  return y = %y\n"
                                          "}\n");
  smelt_compiled* compiled_ = nullptr;
};

TEST_F(CompileCApi, MakesAPlanThatRunsFromMemory) {
  ASSERT_EQ(compile(model_, {"mode=infer", "max=N=5", "no-plan-cache"}), SMELT_OK)
      << smelt_compile_last_error();
  size_t bytes = 0;
  const void* data = smelt_compiled_data(compiled_, &bytes);
  smelt_plan* plan = nullptr;
  smelt_session* session = nullptr;
  ASSERT_EQ(smelt_plan_from_memory(data, bytes, nullptr, &plan), SMELT_OK) << smelt_last_error();
  ASSERT_EQ(smelt_session_create(plan, nullptr, &session), SMELT_OK) << smelt_last_error();
  float x[3] = {1, 2, 3}, y[3] = {};
  auto input = sized<smelt_tensor>(), output = sized<smelt_tensor>();
  input.name = "x", input.dtype = SMELT_F32, input.rank = 1, input.shape[0] = 3;
  input.data = x, input.bytes = sizeof x;
  output.name = "y", output.data = y, output.bytes = sizeof y;
  EXPECT_EQ(smelt_session_run(session, "double", &input, 1, &output, 1, nullptr), SMELT_OK)
      << smelt_last_error();
  EXPECT_EQ(y[2], 6);
  input.shape[0] = 6, input.bytes = 24;
  EXPECT_NE(smelt_session_run(session, "double", &input, 1, &output, 1, nullptr), SMELT_OK) << "above N=5";
  smelt_session_free(session);
  smelt_plan_free(plan);
}

TEST_F(CompileCApi, WhatIsWrongIsToldAndNothingIsMade) {
  expect_refused({"mode=inver"}, "mode");
  expect_refused({"no-such-option"}, "no-such-option");
  expect_refused({"mode=infer", nullptr}, "an option is null");
  EXPECT_EQ(compile(d_ / "absent", {}), SMELT_IO) << smelt_compile_last_error();
  EXPECT_EQ(smelt_compile(nullptr, nullptr, 0, &compiled_), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_compile(model_.c_str(), nullptr, 1, &compiled_), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_compile(model_.c_str(), nullptr, 0, nullptr), SMELT_INVALID_ARGUMENT);
  size_t bytes = 1;
  EXPECT_EQ(smelt_compiled_data(nullptr, &bytes), nullptr);
  EXPECT_EQ(bytes, 0U);
}

}  // namespace
}  // namespace smelt
