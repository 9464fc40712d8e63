// The bias of GEMMs whose batch no single stride walks: cuBLASLt adds none to GEMMs by pointers.
#include "runtime/base/error.h"
#include "runtime/cuda/gemm.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

using cuda::DeviceBlock;
using cuda::GemmSizes;

class BiasOfABatch : public FakeGpu {
 protected:
  static cuda::Device& device() { return cuda::Device::open(); }
  static DeviceBlock on_device(const std::vector<float>& values) {
    DeviceBlock block = cuda::device_block(device(), static_cast<int64_t>(values.size() * 4));
    cuda::check(cuda::driver().MemcpyHtoDAsync(block.get(), values.data(), values.size() * 4, nullptr),
                "test");
    return block;
  }
};

/// GEMMs of 2 x 4 by 4 x 3 in a batch of 2 x 3 x 5, whose operands A lie in another order than their
/// results.
GemmSizes batch_of_three_axes() {
  return {.m = 2,
          .n = 3,
          .k = 4,
          .a = {4, 1},
          .b = {3, 1},
          .c = {3, 1},
          .batch = {{2, 8, 0, 90}, {3, 16, 0, 30}, {5, 48, 0, 6}}};
}

TEST_F(BiasOfABatch, ThatNoStrideWalks) {
  const GemmSizes sizes = batch_of_three_axes();
  std::vector<float> a(240), b(12), bias = {100, 200, 300}, c(180, -1);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5);
  const DeviceBlock on[] = {on_device(a), on_device(b), on_device(c), on_device(bias)};
  cuda::PreparedGemm gemm(device(), sizes, on[0].get(), on[1].get(), on[2].get(), "test",
                          {.bias = on[3].get()});
  EXPECT_EQ(gemm.calls(), 6) << "one for each index of all axes but the longest";
  const DeviceBlock workspace = cuda::device_block(device(), cuda::kGemmWorkspace);
  cuda::GemmChoices choices({}, cuda::GemmPlace::of(device()));
  gemm.choose(nullptr, workspace.get(), choices);
  gemm.run(nullptr, workspace.get());
  cuda::check(cuda::driver().MemcpyDtoHAsync(c.data(), on[2].get(), c.size() * 4, nullptr), "test");
  for (int64_t batch = 0; batch < 30; ++batch)
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 3; ++j) {
        const int64_t begin = batch / 15 * 8 + batch / 5 % 3 * 16 + batch % 5 * 48;
        float expected = bias[static_cast<size_t>(j)];
        for (int64_t k = 0; k < 4; ++k)
          expected += a[static_cast<size_t>(begin + i * 4 + k)] * b[static_cast<size_t>(k * 3 + j)];
        EXPECT_EQ(c[static_cast<size_t>(batch * 6 + i * 3 + j)], expected) << batch;
      }
}

TEST_F(BiasOfABatch, ASumOverTheBatchTakesNone) {
  GemmSizes sizes = batch_of_three_axes();
  sizes.batch = {{2, 8, 12, 0, true}};
  const DeviceBlock block = cuda::device_block(device(), 4096);
  EXPECT_THROW(cuda::PreparedGemm(device(), sizes, block.get(), block.get(), block.get(), "test",
                                  {.bias = block.get()}),
               Error);
}

}  // namespace
}  // namespace smelt::fake
