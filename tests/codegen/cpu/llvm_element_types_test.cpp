// Elements in memory as machine code reads and rounds them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "runtime/base/half.h"
#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

float bf16_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::isnan(value) ? static_cast<uint16_t>(bits >> 16 | 0x40)
                           : static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

Kernel copy(DType from, DType to, Dim n) {
  KernelBuilder b("copy");
  const int c = b.column(n);
  const int x = b.input(from), y = b.output(to);
  b.column_block();
  b.store(y, {{c, 1}}, b.load(x, {{c, 1}}));
  b.kernel.schedule.flat = true;
  return b.kernel;
}

TEST(ElementTypes, Bf16RoundsToNearestEven) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (1ull << 32); bits += 65521 / 7)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  std::vector<uint16_t> y(x.size());
  const auto n = static_cast<int64_t>(x.size());
  CompiledKernel(copy(DType::f32, DType::bf16, Dim::symbol("N")))
      .launch({.buffers = {x.data(), y.data()}, .symbols = {{"N", n}}, .chunk = n});
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], float_to_bf16(x[i])) << x[i];
  std::vector<float> back(65536);
  std::vector<uint16_t> all(65536);
  for (int i = 0; i < 65536; ++i) all[i] = static_cast<uint16_t>(i);
  CompiledKernel(copy(DType::bf16, DType::f32, 65536))
      .launch({.buffers = {all.data(), back.data()}, .chunk = 65536});
  for (int i = 0; i < 65536; ++i) ASSERT_EQ(std::bit_cast<uint32_t>(back[i]), uint32_t(i) << 16);
}

/// With the conversion instructions and without them: the same bits, the same as this compiler's.
TEST(ElementTypes, HalfMatchesTheCompilersOwn) {
  std::vector<uint16_t> all(65536);
  for (int i = 0; i < 65536; ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (1ull << 32); bits += 4099)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  const auto n = static_cast<int64_t>(x.size());
  CpuTarget plain = CpuTarget::host();
  std::vector<CpuTarget> targets = {plain};
  if (plain.triple.find("x86_64") == 0)
    plain.cpu = "x86-64", plain.features = "+sse2", targets.push_back(plain);
  for (const CpuTarget& target : targets) {
    std::vector<float> wide(65536);
    CompiledKernel(copy(DType::f16, DType::f32, 65536), target)
        .launch({.buffers = {all.data(), wide.data()}, .chunk = 65536});
    for (int i = 0; i < 65536; ++i) {
      const auto expected = static_cast<float>(std::bit_cast<_Float16>(all[i]));
      ASSERT_TRUE(wide[i] == expected || (std::isnan(wide[i]) && std::isnan(expected))) << i;
    }
    std::vector<uint16_t> narrow(x.size());
    CompiledKernel(copy(DType::f32, DType::f16, n), target)
        .launch({.buffers = {x.data(), narrow.data()}, .chunk = n});
    for (size_t i = 0; i < x.size(); ++i) {
      const auto expected = std::bit_cast<uint16_t>(static_cast<_Float16>(x[i]));
      if (std::isnan(x[i]))
        ASSERT_GT(narrow[i] & 0x7FFF, 0x7C00);
      else
        ASSERT_EQ(narrow[i], expected) << x[i];
    }
  }
}

/// The same bits as the runtime's own conversions, NaNs but for their sign.
TEST(ElementTypes, EightBitFloatsMatchTheRuntime) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (1ull << 32); bits += 4099)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  std::vector<uint8_t> y(x.size()), all(256);
  const auto n = static_cast<int64_t>(x.size());
  CompiledKernel(copy(DType::f32, DType::f8e4m3, n)).launch({.buffers = {x.data(), y.data()}, .chunk = n});
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], to_f8e4m3(x[i])) << x[i];
  for (size_t i = 0; i < 256; ++i) all[i] = static_cast<uint8_t>(i);
  std::vector<float> wide(256);
  CompiledKernel(copy(DType::f8e4m3, DType::f32, 256))
      .launch({.buffers = {all.data(), wide.data()}, .chunk = 256});
  for (size_t i = 0; i < 256; ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(from_f8e4m3(all[i]))) << i;
}

TEST(ElementTypes, IntegersAndFlagsAndConvert) {
  const int64_t n = 37;
  KernelBuilder b("types");
  const int c = b.column(n);
  const int x8 = b.input(DType::u8), x16 = b.input(DType::u16), x64 = b.input(DType::i64),
            flag = b.input(DType::boolean), real = b.input(), y32 = b.output(DType::i32), yf = b.output(),
            y64 = b.output(DType::i64), rounded = b.output(), double_out = b.output(DType::f64);
  b.column_block();
  const int sum = b.op(ScalarOp::add, {b.load(x8, {{c, 1}}), b.load(x16, {{c, 1}})}, DType::i32);
  const int total = b.op(
      ScalarOp::mul, {b.op(ScalarOp::sub, {sum, b.load(x64, {{c, 1}})}, DType::i32), b.number(3, DType::i32)},
      DType::i32);
  b.store(y32, {{c, 1}}, b.op(ScalarOp::add, {total, b.index(c)}, DType::i32));
  const int r = b.load(real, {{c, 1}});
  const int truncated = b.convert(r, DType::i32);
  b.store(y64, {{c, 1}}, truncated);
  b.store(yf, {{c, 1}}, b.op(ScalarOp::select, {b.load(flag, {{c, 1}}), b.convert(total, DType::f32), r}));
  b.store(rounded, {{c, 1}}, b.convert(r, DType::bf16));
  b.store(double_out, {{c, 1}}, r);
  std::vector<uint8_t> bytes, flags;
  std::vector<uint16_t> words;
  std::vector<int64_t> longs;
  auto reals = random_floats(n, 4, -300, 300);
  for (int i = 0; i < n; ++i)
    bytes.push_back(250 - i), words.push_back(65535 - i), longs.push_back(i * 1000),
        flags.push_back(i % 3 == 0);
  std::vector<int32_t> out32(n);
  std::vector<float> outf(n), outr(n);
  std::vector<int64_t> out64(n);
  std::vector<double> outd(n);
  CompiledKernel(b.kernel).launch(
      {.buffers = {bytes.data(), words.data(), longs.data(), flags.data(), reals.data(), out32.data(),
                   outf.data(), out64.data(), outr.data(), outd.data()}});
  for (int i = 0; i < n; ++i) {
    const int expected = (bytes[i] + words[i] - static_cast<int>(longs[i])) * 3;
    EXPECT_EQ(out32[i], expected + i);
    EXPECT_EQ(outf[i], flags[i] ? static_cast<float>(expected) : reals[i]);
    EXPECT_EQ(out64[i], static_cast<int64_t>(reals[i]));
    EXPECT_EQ(outr[i], bf16_to_float(float_to_bf16(reals[i])));
    EXPECT_EQ(outd[i], reals[i]);
  }
}

}  // namespace
}  // namespace smelt::test
