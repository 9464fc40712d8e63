// Inputs and outputs that lie in the GPU's memory, and runs that are ordered with a caller's stream.
#include <chrono>
#include <thread>

#include "runtime/base/error.h"
#include "tests/fake_gpu/device_memory.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

constexpr int64_t kGivenRows = 5;

class DeviceTensors : public FakeGpu {
 protected:
  /// What FakeGpu::train gives a session.
  static std::vector<float> x_of(int64_t step) {
    std::vector<float> x(kGivenRows * kIn);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>((7 * i + 3 * static_cast<size_t>(step)) % 11) - 5;
    return x;
  }
  static InputTensor input(const DeviceFloats& x) {
    return {"x", DType::f32, {kGivenRows, kIn}, x.pointer(), true};
  }
  static OutputBuffer output(const DeviceFloats& y) { return {"y", y.pointer(), y.bytes(), true}; }
  static void run(Session& session, const InputTensor& x, const OutputBuffer& y,
                  const RunOptions& options = {}) {
    session.run("train_step", {&x, 1}, {&y, 1}, options);
  }
  const DeviceFloats y_{std::vector<float>(kGivenRows * kOut, -1)};
};

TEST_F(DeviceTensors, GiveWhatTensorsOfTheHostDo) {
  const auto expected = session(), ready = session();
  const auto stream = cuda::make_stream(cuda::Device::open());
  for (int64_t step = 0; step < 5; ++step) {
    const DeviceFloats x(x_of(step));
    run(*ready, input(x), output(y_), {.stream = step % 2 == 0 ? stream.get() : nullptr});
    EXPECT_EQ(y_.values(), train(*expected, step)) << step;
  }
  EXPECT_EQ(weights(*ready), weights(*expected));
}

TEST_F(DeviceTensors, NothingGoesThroughTheHostAndNobodyWaits) {
  const auto ready = session();
  const DeviceFloats x(x_of(0));
  for (int i = 0; i < 3; ++i) run(*ready, input(x), output(y_));  // GEMMs choose, graphs are captured
  gpu().uploads = gpu().downloads = gpu().waits = gpu().event_waits = 0;
  const int graphs = gpu().graph_launches;
  for (const bool in_place : {false, false, true}) run(*ready, input(x), output(y_), {.in_place = in_place});
  EXPECT_EQ(gpu().uploads, 0);
  EXPECT_EQ(gpu().downloads, 0);
  EXPECT_EQ(gpu().graph_launches, graphs + 2) << "addresses of the caller are launched by themselves first";
  EXPECT_EQ(gpu().event_waits, 0);
}

TEST_F(DeviceTensors, HostAndDeviceMayBeMixed) {
  const auto expected = session(), ready = session();
  const std::vector<float> host_x = x_of(0);
  run(*ready, {"x", DType::f32, {kGivenRows, kIn}, host_x.data()}, output(y_));
  EXPECT_EQ(y_.values(), train(*expected, 0));
  const DeviceFloats x(x_of(1));
  const InputTensor from_device = input(x);
  const auto results = ready->run("train_step", {&from_device, 1});
  EXPECT_TRUE(std::ranges::equal(results[0].as<float>(), train(*expected, 1)));
}

/// The caller's stream writes the input some time after the call.
TEST_F(DeviceTensors, ARunBeginsWhenTheStreamHasDoneWhatItWasGiven) {
  const auto expected = session(), ready = session();
  const auto stream = cuda::make_stream(cuda::Device::open());
  const DeviceFloats x(std::vector<float>(kGivenRows * kIn, 0));
  leave_unfinished(stream.get(), std::async(std::launch::async, [&] {
                                   std::this_thread::sleep_for(std::chrono::milliseconds(30));
                                   std::ranges::copy(x_of(0), x.floats().begin());
                                 }).share());
  run(*ready, input(x), output(y_), {.stream = stream.get()});
  EXPECT_EQ(y_.values(), train(*expected, 0));
}

/// The kernel reads y where the matmul has written it.
TEST_F(DeviceTensors, AreUsedWhereTheyLieIfAskedFor) {
  const auto expected = session(), ready = session();
  const DeviceFloats x(x_of(0));
  const void* read = nullptr;
  gpu().kernels["descend"] = {5, [&](const KernelCall& call) {
                                read = call.argument<const void*>(0);
                                descend(call);
                              }};
  for (const bool in_place : {true, true, true, false, true}) {
    run(*ready, input(x), output(y_), {.in_place = in_place});
    EXPECT_EQ(read == y_.pointer(), in_place);
    EXPECT_EQ(y_.values(), train(*expected, 0));
  }
}

/// Kernels count on the alignment of what the session has allocated itself.
TEST_F(DeviceTensors, AreCopiedWhereTheyAreNotAligned) {
  const auto expected = session(), ready = session();
  std::vector<float> shifted = x_of(0);
  shifted.insert(shifted.begin(), 99);
  const DeviceFloats x(shifted);
  InputTensor from = input(x);
  from.data = x.floats().data() + 1;
  run(*ready, from, output(y_), {.in_place = true});
  EXPECT_EQ(y_.values(), train(*expected, 0));
}

TEST_F(DeviceTensors, AddressesOfOtherMemoryAreRefused) {
  gpu().count = kMostGpus;
  const auto ready = session();
  const DeviceFloats x(x_of(0)), elsewhere(x_of(0), kMostGpus - 1);
  const std::vector<float> host = x_of(0);
  const auto message = [&](const void* data, const OutputBuffer& to) {
    const InputTensor from{"x", DType::f32, {kGivenRows, kIn}, data, true};
    return message_of([&] { run(*ready, from, to); });
  };
  EXPECT_HAS(message(host.data(), output(y_)), "'x': 0x");
  EXPECT_HAS(message(host.data(), output(y_)), "is no address of a GPU's memory");
  EXPECT_HAS(message(elsewhere.pointer(), output(y_)), "it lies on GPU 3, and the session is on GPU 0");
  std::vector<float> host_y(kGivenRows * kOut);
  EXPECT_HAS(message(x.pointer(), {"y", host_y.data(), 60, true}), "'y': 0x");
  EXPECT_HAS(message(x.pointer(), {"y", y_.pointer(), 59, true}), "need 60 bytes, the memory given holds 59");
  EXPECT_HAS(message(nullptr, output(y_)), "run without its input 'x'");
}

TEST_F(DeviceTensors, IdsMustBeTheHosts) {
  Plan plan = linear_plan();
  plan.buffers.push_back(
      {.name = "ids", .role = Role::input, .dtype = DType::i32, .elements = 4, .bytes = 16});
  plan.entries[0].inputs.push_back({"ids", DType::i32, {Dim(4)}, 3, true, IdRange{9, -1}});
  const auto ready = session(plan);
  const DeviceFloats x(x_of(0));
  const std::vector<InputTensor> inputs = {input(x), {"ids", DType::i32, {4}, x.pointer(), true}};
  const OutputBuffer to = output(y_);
  EXPECT_HAS(message_of([&] { ready->repeat("train_step", inputs, 2); }), "'x': it lies on the device");
  EXPECT_HAS(message_of([&] { ready->run("train_step", inputs, {&to, 1}); }),
             "'ids': its ids lie on the GPU, where they are not checked: expected memory of the host");
}

}  // namespace
}  // namespace smelt::fake
