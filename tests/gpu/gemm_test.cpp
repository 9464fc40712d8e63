// GEMMs on cuBLASLt against float64; skipped where there is no GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "runtime/base/half.h"
#include "runtime/cuda/gemm.h"

namespace smelt::cuda {
namespace {

using Batch = GemmSizes::Batch;

/// A matrix with its batch in device memory and, rounded to its type, in double.
struct Operand {
  DType dtype = DType::f32;
  std::vector<double> values;
  DeviceBlock device;

  Operand(DType type, int64_t count, std::mt19937& random) : dtype(type), values(static_cast<size_t>(count)) {
    std::normal_distribution<float> normal;
    std::vector<std::byte> raw(values.size() * static_cast<size_t>(size_of(type)));
    for (size_t i = 0; i < values.size(); ++i) {
      const float value = normal(random);
      if (type == DType::f32) {
        values[i] = value;
        std::memcpy(raw.data() + 4 * i, &value, 4);
        continue;
      }
      const uint16_t half = type == DType::bf16 ? to_bf16(value) : to_f16(value);
      values[i] = type == DType::bf16 ? from_bf16(half) : from_f16(half);
      std::memcpy(raw.data() + 2 * i, &half, 2);
    }
    device = device_block(Device::open(), static_cast<int64_t>(raw.size()));
    check(driver().MemcpyHtoDAsync(device.get(), raw.data(), raw.size(), nullptr), "test");
    check(driver().StreamSynchronize(nullptr), "test");
  }

  std::vector<double> download() const {
    std::vector<std::byte> raw(values.size() * static_cast<size_t>(size_of(dtype)));
    check(driver().MemcpyDtoHAsync(raw.data(), device.get(), raw.size(), nullptr), "test");
    check(driver().StreamSynchronize(nullptr), "test");
    std::vector<double> result(values.size());
    for (size_t i = 0; i < result.size(); ++i) {
      float value = 0;
      uint16_t half = 0;
      if (dtype == DType::f32)
        std::memcpy(&value, raw.data() + 4 * i, 4);
      else
        std::memcpy(&half, raw.data() + 2 * i, 2),
            value = dtype == DType::bf16 ? from_bf16(half) : from_f16(half);
      result[i] = value;
    }
    return result;
  }
};

int64_t reach(const GemmSizes::Matrix& m, int64_t rows, int64_t columns, const GemmSizes& s,
              int64_t Batch::* stride) {
  int64_t last = (rows - 1) * m.row_stride + (columns - 1) * m.column_stride;
  for (const Batch& axis : s.batch) last += (axis.extent - 1) * axis.*stride;
  return last + 1;
}

void for_each(const std::vector<Batch>& axes, size_t axis, Batch at,
              const std::function<void(const Batch&)>& visit) {
  if (axis == axes.size()) return visit(at);
  for (int64_t i = 0; i < axes[axis].extent; ++i) {
    for_each(axes, axis + 1, at, visit);
    at.a += axes[axis].a, at.b += axes[axis].b, at.c += axes[axis].c;
  }
}

std::vector<double> reference(const GemmSizes& s, const Operand& a, const Operand& b, const Operand& c) {
  std::vector<double> out = c.values;
  std::vector<bool> touched(out.size());
  for_each(s.batch, 0, {.extent = 1}, [&](const Batch& at) {
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j) {
        const auto place = static_cast<size_t>(at.c + i * s.c.row_stride + j * s.c.column_stride);
        double sum = 0;
        for (int64_t k = 0; k < s.k; ++k)
          sum += a.values[static_cast<size_t>(at.a + i * s.a.row_stride + k * s.a.column_stride)] *
                 b.values[static_cast<size_t>(at.b + k * s.b.row_stride + j * s.b.column_stride)];
        out[place] = (touched[place] ? out[place] : s.beta * out[place]) + s.alpha * sum;
        touched[place] = true;
      }
  });
  return out;
}

/// Of results whose columns lie together, in every batch.
void add_bias(const GemmSizes& s, const Operand& bias, std::vector<double>& out) {
  for_each(s.batch, 0, {.extent = 1}, [&](const Batch& at) {
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j)
        out[static_cast<size_t>(at.c + i * s.c.row_stride + j)] += bias.values[static_cast<size_t>(j)];
  });
}

void expect_product(const GemmSizes& s, uint32_t seed, bool has_bias = false) {
  std::mt19937 random(seed);
  const Operand a(s.dtype, reach(s.a, s.m, s.k, s, &Batch::a), random),
      b(s.dtype, reach(s.b, s.k, s.n, s, &Batch::b), random),
      c(s.result_dtype, reach(s.c, s.m, s.n, s, &Batch::c), random);
  const Operand bias(s.result_dtype, has_bias ? s.n : 1, random);
  std::vector<double> expected = reference(s, a, b, c);
  if (has_bias) add_bias(s, bias, expected);
  const Device& device = Device::open();
  const StreamOwner stream = make_stream(device);
  const DeviceBlock workspace = device_block(device, kGemmWorkspace);
  GemmChoices choices({}, GemmPlace::of(device));
  PreparedGemm gemm(device, s, a.device.get(), b.device.get(), c.device.get(), "test",
                    {.bias = has_bias ? bias.device.get() : 0});
  gemm.choose(stream.get(), workspace.get(), choices);
  gemm.run(stream.get(), workspace.get());
  check(driver().StreamSynchronize(stream.get()), "test");
  const std::vector<double> found = c.download();
  double off = 0, square = 0;
  for (size_t i = 0; i < found.size(); ++i)
    off += std::pow(found[i] - expected[i], 2), square += std::pow(expected[i], 2);
  square = std::max(square, static_cast<double>(s.m * s.n * s.k));  // few numbers may cancel
  const double bound = s.tf32                          ? 1e-3
                       : s.result_dtype == DType::f32  ? (s.dtype == DType::f32 ? 1e-6 : 2e-6)
                       : s.result_dtype == DType::bf16 ? 4e-3
                                                       : 6e-4;
  EXPECT_LE(std::sqrt(off / square), bound) << s.m << "x" << s.n << "x" << s.k;
}

class GpuGemm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  }
};

TEST_F(GpuGemm, EveryLayoutAndType) {
  uint32_t seed = 1;
  for (const auto& [in, out] : {std::pair(DType::f32, DType::f32),
                                {DType::bf16, DType::bf16},
                                {DType::bf16, DType::f32},
                                {DType::f16, DType::f16},
                                {DType::f16, DType::f32}})
    for (const int64_t m : {1, 33, 128})
      for (const int64_t n : {1, 31, 64})
        for (const int64_t k : {1, 3, 197})
          for (int layout = 0; layout < 8; ++layout)
            for (const double beta : {0.0, 1.0}) {
              const auto matrix = [](bool flip, int64_t rows, int64_t columns) {
                return flip ? GemmSizes::Matrix{1, rows} : GemmSizes::Matrix{columns, 1};
              };
              expect_product({.m = m,
                              .n = n,
                              .k = k,
                              .a = matrix(layout & 1, m, k),
                              .b = matrix(layout & 2, k, n),
                              .c = matrix(layout & 4, m, n),
                              .beta = beta,
                              .dtype = in,
                              .result_dtype = out},
                             ++seed);
            }
}

/// Heads of a [B,T,3,H,D] projection: two batch axes that no single stride walks.
TEST_F(GpuGemm, AttentionScores) {
  const int64_t heads = 3, length = 33, width = 16, batch = 5, row = 3 * heads * width;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    expect_product({.m = length,
                    .n = length,
                    .k = width,
                    .a = {row, 1},
                    .b = {1, row},
                    .c = {length, 1},
                    .alpha = 0.25,
                    .batch = {{batch, length * row, length * row, heads * length * length},
                              {heads, width, width, length * length}},
                    .dtype = dtype,
                    .result_dtype = dtype},
                   7);
}

/// Tensor cores read f32 with 10 bits of mantissa: close, and not as close as f32.
TEST_F(GpuGemm, Tf32) {
  for (const int64_t size : {1, 31, 64, 197})
    expect_product({.m = size,
                    .n = size + 1,
                    .k = 3 * size,
                    .a = {3 * size, 1},
                    .b = {1, 3 * size},
                    .c = {size + 1, 1},
                    .tf32 = true},
                   static_cast<uint32_t>(size));
}

/// The sum over a batch axis goes into one result.
TEST_F(GpuGemm, SumsOverABatch) {
  for (const double beta : {0.0, 1.0})
    expect_product({.m = 31,
                    .n = 64,
                    .k = 17,
                    .a = {1, 31},
                    .b = {64, 1},
                    .c = {64, 1},
                    .beta = beta,
                    .batch = {{4, 31 * 17, 64 * 17, 0, true}},
                    .dtype = DType::bf16,
                    .result_dtype = DType::f32},
                   9);
}

/// A bias along the columns, also where one result has a single row or column, and where rows of a batch have
/// gaps.
TEST_F(GpuGemm, AddsABias) {
  uint32_t seed = 11;
  for (const auto& [in, out] :
       {std::pair(DType::f32, DType::f32), {DType::bf16, DType::bf16}, {DType::f16, DType::f16}})
    for (const int64_t m : {1, 33, 128})
      for (const int64_t n : {1, 31, 96})
        for (const std::vector<Batch>& batch : {std::vector<Batch>{}, {{3, 2 * m * 64, 0, 2 * m * n}}})
          for (const bool flip : {false, true})
            expect_product({.m = m,
                            .n = n,
                            .k = 64,
                            .a = {64, 1},
                            .b = flip ? GemmSizes::Matrix{1, 64} : GemmSizes::Matrix{n, 1},
                            .c = {n, 1},
                            .batch = batch,
                            .dtype = in,
                            .result_dtype = out},
                           ++seed, true);
}

}  // namespace
}  // namespace smelt::cuda
