// The C interface with tensors in a GPU's memory and a caller's stream.
#include "runtime/plan/plan_file.h"
#include "runtime/smelt.h"
#include "tests/fake_gpu/device_memory.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

class CApiDevice : public FakeGpu {
 protected:
  CApiDevice() {
    const std::string bytes = serialize_plan(linear_plan());
    EXPECT_EQ(smelt_plan_from_memory(bytes.data(), bytes.size(), nullptr, &plan_), SMELT_OK)
        << smelt_last_error();
    EXPECT_EQ(smelt_session_create(plan_, nullptr, &session_), SMELT_OK) << smelt_last_error();
    EXPECT_EQ(smelt_session_initialize(session_, 1), SMELT_OK);
  }
  ~CApiDevice() override { smelt_session_free(session_), smelt_plan_free(plan_); }

  static smelt_tensor tensor(const char* name, const DeviceFloats& values) {
    smelt_tensor made{};
    made.struct_size = sizeof made, made.name = name, made.dtype = SMELT_F32;
    made.data = values.pointer(), made.bytes = static_cast<size_t>(values.bytes());
    made.memory = SMELT_MEMORY_DEVICE;
    return made;
  }

  smelt_plan* plan_ = nullptr;
  smelt_session* session_ = nullptr;
};

TEST_F(CApiDevice, RunsOnTheCallersStream) {
  const auto expected = session();
  const auto stream = cuda::make_stream(cuda::Device::open());
  std::vector<float> values(kIn);  // as FakeGpu::train has them in its first step
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(7 * i % 11) - 5;
  const DeviceFloats x(values), y(std::vector<float>(kOut, 0));
  smelt_tensor input = tensor("x", x), output = tensor("y", y);
  input.rank = 2, input.shape[0] = 1, input.shape[1] = kIn;
  smelt_run_options options{sizeof options, stream.get(), 0};
  for (const int in_place : {0, 0, 1, 1}) {
    options.in_place = in_place;
    ASSERT_EQ(smelt_session_run(session_, "train_step", &input, 1, &output, 1, &options), SMELT_OK)
        << smelt_last_error();
    EXPECT_EQ(output.shape[1], kOut);
    EXPECT_EQ(y.values(), train(*expected, 0, 1));
  }
  EXPECT_EQ(smelt_session_synchronize(session_), SMELT_OK);
}

TEST_F(CApiDevice, AddressesOfTheHostAreRefused) {
  const DeviceFloats y(std::vector<float>(kOut, 0));
  std::vector<float> x(kIn, 1);
  smelt_tensor input = tensor("x", y), output = tensor("y", y);
  input.rank = 2, input.shape[0] = 1, input.shape[1] = kIn;
  input.data = x.data(), input.bytes = kIn * 4;
  EXPECT_EQ(smelt_session_run(session_, "train_step", &input, 1, &output, 1, nullptr),
            SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "is no address of a GPU's memory");
}

}  // namespace
}  // namespace smelt::fake
