// Numbers of f8e4m3 as the text of kernels rounds and widens them where no instruction does, the same as the
// runtime's own conversions.
#include <gtest/gtest.h>

#include <bit>

#include "runtime/base/half.h"
#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

Kernel converted(DType from, DType to, int64_t n) {
  KernelBuilder b("k_convert");
  const int c = b.column(n);
  const int x = b.input(from), y = b.output(to);
  b.column_block();
  b.store(y, {{c, 1}}, b.convert(b.convert(b.load(x, {{c, 1}}), DType::f32), to));
  for (KernelParam& param : b.kernel.params) param.alignment = 16;
  schedule(b.kernel, {}, parse_target("sm_90"));
  return b.kernel;
}

TEST(EightBitFloats, AreRoundedAsTheRuntimeRounds) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (1ULL << 32); bits += 65521)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  std::vector<uint8_t> y(x.size());
  CompiledKernel::run(converted(DType::f32, DType::f8e4m3, static_cast<int64_t>(x.size())),
                      {.buffers = {x.data(), y.data()}});
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], to_f8e4m3(x[i])) << x[i];
}

TEST(EightBitFloats, AreWidenedAsTheRuntimeWidens) {
  std::vector<uint8_t> x(256);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i);
  std::vector<float> y(x.size());
  CompiledKernel::run(converted(DType::f8e4m3, DType::f32, 256), {.buffers = {x.data(), y.data()}});
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(from_f8e4m3(x[i]))) << i;
}

}  // namespace
}  // namespace smelt::test
