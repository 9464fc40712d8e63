// Applications that were built with another version of the header, and numbers that are of no enumeration.
#include <cstdint>
#include <cstring>

#include "tests/runtime/c_api/copy_plan.h"

namespace smelt {
namespace {

/// smelt_session_options of a later version.
struct LaterOptions {
  smelt_session_options now;
  int32_t more, padding;
};
struct LaterTensor {
  smelt_tensor now;
  uint64_t more;
};
struct LaterPort {
  smelt_port now;
  uint64_t more;
};

class CApiStructs : public CApi {
 protected:
  static void expect_refused(smelt_status got, const char* part) {
    EXPECT_EQ(got, SMELT_INVALID_ARGUMENT);
    EXPECT_HAS(smelt_last_error(), part);
  }
  float x_[3] = {1, 2, 3}, y_[3] = {};
};

TEST_F(CApiStructs, WithoutASizeAreRefused) {
  smelt_session_options options{};
  smelt_session* other = nullptr;
  expect_refused(smelt_session_create(plan, &options, &other),
                 "the session's options: struct_size is 0, expected");
  smelt_port port{};
  expect_refused(smelt_plan_input(plan, "run", 0, &port), "port: struct_size is 0");
  EXPECT_EQ(port.name, nullptr);
  smelt_tensor input = tensor("x", {1, 3}, x_, sizeof x_), output = tensor("y", {}, y_, sizeof y_);
  const auto run = [&] { return smelt_session_run(session, "run", &input, 1, &output, 1, nullptr); };
  output.struct_size = 8;
  expect_refused(run(), "output: struct_size is 8");
  output.struct_size = sizeof output, input.struct_size = 0;
  expect_refused(run(), "input: struct_size is 0");
  input.struct_size = sizeof input;
  EXPECT_EQ(run(), SMELT_OK);
  const smelt_run_options none{};
  expect_refused(smelt_session_run(session, "run", &input, 1, &output, 1, &none), "the run's options");
}

/// Nothing is read behind the struct.
TEST_F(CApiStructs, WithASizeThatNobodyHasSetAreRefused) {
  smelt_session_options options{};
  smelt_session* other = nullptr;
  for (const size_t wrong : {SIZE_MAX, size_t{1} << 40, size_t{8192}, sizeof options + 1}) {
    options.struct_size = wrong;
    expect_refused(smelt_session_create(plan, &options, &other), "the session's options: struct_size is");
  }
}

TEST_F(CApiStructs, OfALaterVersionAreTakenUnlessTheyAskForMore) {
  LaterOptions options{};
  options.now.struct_size = sizeof options, options.now.threads = 1;
  smelt_session* other = nullptr;
  ASSERT_EQ(smelt_session_create(plan, &options.now, &other), SMELT_OK) << smelt_last_error();
  smelt_session_free(other);
  options.more = 1;
  expect_refused(smelt_session_create(plan, &options.now, &other), "does not have");
}

TEST_F(CApiStructs, OfALaterVersionAreFilledInAsFarAsTheyAreKnown) {
  LaterPort port{};
  port.now.struct_size = sizeof port, port.more = 77;
  ASSERT_EQ(smelt_plan_input(plan, "run", 0, &port.now), SMELT_OK);
  EXPECT_STREQ(port.now.name, "x");
  EXPECT_EQ(port.now.struct_size, sizeof port);
  EXPECT_EQ(port.more, 77U);
}

/// An element's position in an array follows from the size that the caller gave.
TEST_F(CApiStructs, OfALaterVersionAreFoundInArrays) {
  LaterTensor outputs[2] = {};
  float other[3] = {};
  outputs[0].now = tensor("y", {}, y_, sizeof y_), outputs[1].now = tensor("y", {}, other, sizeof other);
  for (LaterTensor& output : outputs) output.now.struct_size = sizeof output;
  LaterTensor input{tensor("x", {1, 3}, x_, sizeof x_), 0};
  input.now.struct_size = sizeof input;
  expect_refused(smelt_session_run(session, "run", &input.now, 1, &outputs[0].now, 2, nullptr),
                 "asked for twice");
  ASSERT_EQ(smelt_session_run(session, "run", &input.now, 1, &outputs[0].now, 1, nullptr), SMELT_OK);
  EXPECT_EQ(std::memcmp(x_, y_, sizeof x_), 0);
  outputs[1].now.struct_size = sizeof outputs[1] - 8;
  expect_refused(smelt_session_run(session, "run", &input.now, 1, &outputs[0].now, 2, nullptr),
                 "output 1: struct_size");
}

TEST_F(CApiStructs, NumbersOutsideOfAnEnumerationAreRefused) {
  for (const smelt_dtype wrong : {-1, SMELT_F8E4M3 + 1, 77, INT32_MAX, INT32_MIN}) {
    EXPECT_STREQ(smelt_dtype_name(wrong), "");
    EXPECT_EQ(smelt_dtype_size(wrong), 0U);
    smelt_tensor input = tensor("x", {1, 3}, x_, sizeof x_), output = tensor("y", {}, y_, sizeof y_);
    input.dtype = wrong;
    expect_refused(smelt_session_run(session, "run", &input, 1, &output, 1, nullptr), "is no smelt_dtype");
  }
  for (smelt_dtype each = SMELT_F32; each <= SMELT_F8E4M3; ++each) EXPECT_GT(smelt_dtype_size(each), 0U);
  for (const smelt_memory wrong : {-1, SMELT_MEMORY_PINNED + 0, 9}) {
    smelt_tensor input = tensor("x", {1, 3}, x_, sizeof x_), output = tensor("y", {}, y_, sizeof y_);
    input.memory = wrong;
    expect_refused(smelt_session_run(session, "run", &input, 1, &output, 1, nullptr), "input 'x': memory");
    input.memory = SMELT_MEMORY_DEVICE, output.memory = wrong;
    expect_refused(smelt_session_run(session, "run", &input, 1, &output, 1, nullptr), "output 'y': memory");
  }
}

}  // namespace
}  // namespace smelt
