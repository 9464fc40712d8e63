// Tensors in the GPU's memory and a caller's stream; skipped where there is no GPU.
#include "ir/text/text.h"
#include "runtime/base/error.h"
#include "runtime/cuda/memory.h"
#include "tests/gpu/small_model.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int64_t kMostVectors = 16384, kVectorWidth = 256;

constexpr const char* kLayer = R"(symbols B <= 16384
parameter "w" {init = normal(0.1)} : f32[256,256]

graph @layer(%x: f32[B,256]) {
  %w = parameter "w"
  %h = matmul %x, %w {spec = "bi,io->bo"}
  %s = sigmoid %h
  %y = mul %s, %x
  return y = %y
}
)";

class GpuDeviceTensors : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    CompileOptions options;
    options.target = "cuda", options.mode = Mode::infer;
    session_ =
        std::make_unique<Session>(std::make_shared<const Plan>(compile(parse_module(kLayer), options).plan));
    session_->initialize(5);
    device_ = &cuda::Device::open();
    stream_ = cuda::make_stream(*device_);
    x_ = cuda::device_block(*device_, kMostVectors * kVectorWidth * 4);
    y_ = cuda::device_block(*device_, kMostVectors * kVectorWidth * 4);
  }
  static std::vector<float> numbers(int64_t rows, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> values(static_cast<size_t>(rows * kVectorWidth));
    for (float& value : values) value = static_cast<float>(random() % 2001) / 1000 - 1;
    return values;
  }
  std::vector<float> on_host(const std::vector<float>& x, int64_t rows) {
    const InputTensor input{"x", DType::f32, {rows, kVectorWidth}, x.data()};
    const auto outputs = session_->run("layer", {&input, 1});
    const auto y = outputs[0].as<float>();
    return {y.begin(), y.end()};
  }
  /// All on the stream, and nobody waits before its end.
  std::vector<float> on_device(const std::vector<float>& x, int64_t rows, bool in_place, bool again = false) {
    const auto bytes = static_cast<int64_t>(x.size() * 4);
    std::vector<float> y(x.size());
    cuda::check(cuda::driver().MemcpyHtoDAsync(x_.get(), x.data(), x.size() * 4, stream_.get()), "copying");
    const InputTensor input{"x", DType::f32, {rows, kVectorWidth}, reinterpret_cast<void*>(x_.get()), true};
    const OutputBuffer output{"y", reinterpret_cast<void*>(y_.get()), bytes, true};
    session_->run("layer", {&input, 1}, {&output, 1},
                  {.stream = stream_.get(), .in_place = in_place, .in_place_again = again});
    cuda::check(cuda::driver().MemcpyDtoHAsync(y.data(), y_.get(), x.size() * 4, stream_.get()), "copying");
    cuda::check(cuda::driver().StreamSynchronize(stream_.get()), "waiting");
    return y;
  }

  std::unique_ptr<Session> session_;
  cuda::Device* device_ = nullptr;
  cuda::StreamOwner stream_;
  cuda::DeviceBlock x_, y_;
};

TEST_F(GpuDeviceTensors, GiveTheBitsOfTensorsOfTheHost) {
  unsigned seed = 0;
  for (int round = 0; round < 3; ++round)
    for (const int64_t rows : {1, 3, 31, 33, 197, 512}) {
      const std::vector<float> x = numbers(rows, ++seed), expected = on_host(x, rows);
      for (const bool in_place : {false, true}) EXPECT_EQ(on_device(x, rows, in_place), expected) << rows;
    }
}

/// The first run at an address copies, the second one resolves the entry for it, later ones find that.
TEST_F(GpuDeviceTensors, OfLargeSizesAreUsedInPlaceWhenTheirAddressesComeAgain) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    if (seed == 3) std::swap(x_, y_);
    const std::vector<float> x = numbers(kMostVectors, seed);
    EXPECT_EQ(on_device(x, kMostVectors, false, true), on_host(x, kMostVectors)) << seed;
  }
}

TEST_F(GpuDeviceTensors, AnAddressOfTheHostIsRefusedAndTheGpuGoesOn) {
  const std::vector<float> x = numbers(3, 1);
  const InputTensor input{"x", DType::f32, {3, kVectorWidth}, x.data(), true};
  const OutputBuffer output{"y", reinterpret_cast<void*>(y_.get()), 3 * kVectorWidth * 4, true};
  EXPECT_HAS(message_of([&] { session_->run("layer", {&input, 1}, {&output, 1}); }),
             "is no address of a GPU's memory");
  EXPECT_EQ(on_device(x, 3, false), on_host(x, 3));
}

}  // namespace
}  // namespace smelt
