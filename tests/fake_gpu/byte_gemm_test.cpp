// GEMMs of i8, whose sums and factors are i32.
#include "runtime/cuda/gemm.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

template <typename T>
cuda::DeviceBlock copied(cuda::Device& device, const std::vector<T>& values) {
  cuda::DeviceBlock block = cuda::device_block(device, static_cast<int64_t>(values.size() * sizeof(T)));
  cuda::check(cuda::driver().MemcpyHtoDAsync(block.get(), values.data(), values.size() * sizeof(T), nullptr),
              "test");
  return block;
}

class ByteGemms : public FakeGpu {};

TEST_F(ByteGemms, SumsAreWhole) {
  cuda::Device& device = cuda::Device::open();
  const int64_t m = 3, n = 16, k = 32;
  std::vector<int8_t> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(n * k));
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int8_t>(i % 255 - 127);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int8_t>(i % 253 - 126);
  std::vector<int32_t> c(static_cast<size_t>(m * n), -1);
  const cuda::DeviceBlock on[] = {copied(device, a), copied(device, b), copied(device, c)};
  cuda::PreparedGemm gemm(device,
                          {.m = m,
                           .n = n,
                           .k = k,
                           .a = {k, 1},
                           .b = {1, k},
                           .c = {n, 1},
                           .dtype = DType::i8,
                           .result_dtype = DType::i32},
                          on[0].get(), on[1].get(), on[2].get(), "test");
  const cuda::DeviceBlock workspace = cuda::device_block(device, cuda::kGemmWorkspace);
  cuda::GemmChoices choices({}, cuda::GemmPlace::of(device));
  gemm.choose(nullptr, workspace.get(), choices);
  gemm.run(nullptr, workspace.get());
  cuda::check(cuda::driver().MemcpyDtoHAsync(c.data(), on[2].get(), c.size() * 4, nullptr), "test");
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int32_t sum = 0;
      for (int64_t t = 0; t < k; ++t)
        sum += a[static_cast<size_t>(i * k + t)] * b[static_cast<size_t>(j * k + t)];
      EXPECT_EQ(c[static_cast<size_t>(i * n + j)], sum);
    }
}

}  // namespace
}  // namespace smelt::fake
