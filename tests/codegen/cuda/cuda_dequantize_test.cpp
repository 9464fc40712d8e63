// The kernel of dequantize, its text compiled for the host, against the CPU's: the same bits.
#include <gtest/gtest.h>

#include <random>

#include "codegen/cuda/step_kernels.h"
#include "runtime/base/convert.h"
#include "runtime/base/packed_format.h"
#include "runtime/cpu/library_steps.h"
#include "runtime/plan/steps/dequantize.h"
#include "tests/support/cuda_on_host/host_kernels.h"

namespace smelt::test {
namespace {

struct Rows {
  int64_t rows, columns, groups;
  int64_t skipped = 0;  // bytes before the first row of codes, and between rows
};

DequantizeStep dequantize_step(const std::string& format, DType dtype) {
  DequantizeStep step{};
  step.format = format, step.dtype = dtype;
  return step;
}

class CudaDequantize : public ::testing::TestWithParam<std::tuple<const char*, DType, bool>> {
 protected:
  void SetUp() override {
    if (has_zeros_) step_.zeros = BufferRef{};
  }
  void expect_the_cpus(const HostKernels& kernels, const Rows& r);

  const std::string format_ = std::get<0>(GetParam());
  const DType dtype_ = std::get<1>(GetParam());
  const bool has_zeros_ = std::get<2>(GetParam());
  DequantizeStep step_ = dequantize_step(format_, dtype_);
};

std::vector<uint8_t> random_bytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

/// Numbers of the type, from 1/64 to 4.
std::vector<std::byte> random_scales(size_t count, DType dtype) {
  std::mt19937 random(7);
  std::vector<float> scales(count);
  for (float& scale : scales) scale = static_cast<float>(1 + random() % 255) / 64;
  std::vector<std::byte> bytes(count * static_cast<size_t>(size_of(dtype)));
  narrow(scales.data(), bytes.data(), dtype, static_cast<int64_t>(count));
  return bytes;
}

void CudaDequantize::expect_the_cpus(const HostKernels& kernels, const Rows& r) {
  const PackedFormat& format = *find_packed_format(format_);
  DequantizeSizes sizes = {.rows = r.rows, .columns = r.columns, .groups = r.groups};
  sizes.codes_stride = r.columns * format.bits / 8 + r.skipped, sizes.scales_stride = r.groups + 1;
  sizes.zeros_stride = r.groups, sizes.dtype = dtype_;
  const auto codes = random_bytes(static_cast<size_t>(r.rows * sizes.codes_stride + r.skipped + 8), 3);
  const auto zeros = random_bytes(static_cast<size_t>(r.rows * r.groups), 5);
  const auto scales = random_scales(static_cast<size_t>(r.rows * sizes.scales_stride), dtype_);
  const size_t bytes = static_cast<size_t>(r.rows * r.columns * size_of(dtype_));
  std::vector<std::byte> expected(bytes + 16, std::byte{0x5a}), found = expected;
  const uint8_t* first = codes.data() + r.skipped;
  const auto* const zeros_or_none = has_zeros_ ? reinterpret_cast<const int8_t*>(zeros.data()) : nullptr;
  dequantize(sizes, format, first, scales.data(), zeros_or_none, expected.data());
  EXPECT_EQ(kernels.run({.addresses = {{"codes", reinterpret_cast<uint64_t>(first)},
                                       {"scales", address_of(scales)},
                                       {"zeros", address_of(zeros)},
                                       {"y", address_of(found)}},
                         .integers = {{"rows", sizes.rows},
                                      {"columns", sizes.columns},
                                      {"groups", sizes.groups},
                                      {"codes_stride", sizes.codes_stride},
                                      {"scales_stride", sizes.scales_stride},
                                      {"zeros_stride", sizes.zeros_stride}}}),
            1);
  EXPECT_EQ(found, expected) << r.rows << " x " << r.columns << " from " << r.skipped;
}

TEST_P(CudaDequantize, IsTheCpus) {
  const HostKernels kernels(step_kernels(step_, {}, 80).kernels);
  for (const Rows& rows : {Rows{1, 8, 1}, Rows{1, 1024, 4}, Rows{3, 264, 11}, Rows{130, 64, 2},
                           Rows{7, 96, 3, 1}, Rows{5, 1032, 1, 2}, Rows{9, 40, 5, 4}})
    expect_the_cpus(kernels, rows);
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaDequantize,
    ::testing::Values(std::tuple("int4", DType::bf16, false), std::tuple("int4", DType::f16, true),
                      std::tuple("int4", DType::f32, true), std::tuple("nf4", DType::f32, false),
                      std::tuple("nf4", DType::bf16, false), std::tuple("int8", DType::bf16, true),
                      std::tuple("int8", DType::f32, false), std::tuple("int8", DType::f16, false),
                      std::tuple("fp8", DType::f32, false), std::tuple("fp8", DType::bf16, false)));

}  // namespace
}  // namespace smelt::test
