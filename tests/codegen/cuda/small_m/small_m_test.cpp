// Matmuls of few rows: their texts compiled for the host and launched as a plan says, against float64; and
// which steps have such kernels.
#include "codegen/cuda/small_m/small_m.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "runtime/base/half.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/codegen/cuda/small_m/small_m_on_host.h"
#include "tests/codegen/program_player.h"

namespace smelt::test {
namespace {

Buffer buffer_of(Role role, DType dtype, int state) {
  Buffer buffer;
  buffer.role = role, buffer.dtype = dtype, buffer.state = state;
  return buffer;
}

GemmStep product_of(DType dtype, DType result) {
  GemmStep gemm{{{0, 0}, 64, 1}, {{1, 0}, 1, 64}, {{2, 0}, 96, 1}, Dim::symbol("M"), 96, 64};
  gemm.dtype = dtype, gemm.result_dtype = result;
  return gemm;
}

/// A step of an entry that keeps tokens.
struct Example {
  Program program;
  explicit Example(DType dtype = DType::bf16, DType result = DType::bf16, bool has_bias = false) {
    program.symbols.bound({"M"}, 4096);
    program.states.resize(2);
    program.buffers = {buffer_of(Role::temporary, dtype, -1), buffer_of(Role::parameter, dtype, 0),
                       buffer_of(Role::temporary, result, -1), buffer_of(Role::cache, dtype, 1)};
    GemmStep gemm = product_of(dtype, result);
    if (has_bias) gemm.bias = BufferRef{1, 7};
    program.entries.resize(1);
    program.entries[0].steps = {step_of(gemm, {0, 1}, {2}), step_of(FillStep{{3, 0}, 8}, {}, {3})};
  }
  GemmStep& gemm() { return std::get<GemmStep>(program.entries[0].steps[0].what); }
  std::vector<SmallM> kernels() { return small_m(program, program.entries[0], gemm()); }
};

// ---- which steps

TEST(SmallM, EntriesThatKeepTokensHaveKernelsForMoreAndMoreRows) {
  Example example;
  std::vector<std::string> names;
  for (const SmallM& few : example.kernels()) names.push_back(few.name());
  EXPECT_EQ(names,
            (std::vector<std::string>{"smelt_small_m_08_08_bf16_bf16", "smelt_small_m_08_16_bf16_bf16",
                                      "smelt_small_m_08_32_bf16_bf16", "smelt_small_m_16_08_bf16_bf16",
                                      "smelt_small_m_16_16_bf16_bf16", "smelt_small_m_16_32_bf16_bf16"}));
  EXPECT_TRUE(std::ranges::is_sorted(names)) << "a step tries its kernels in the order of their names";
  Example with_bias(DType::f16, DType::f32, true);
  EXPECT_EQ(with_bias.kernels().at(0).name(), "smelt_small_m_08_08_f16_f32_bias");
}

TEST(SmallM, OthersHaveThemWhereThereAreNeverMany) {
  Example example;
  example.program.buffers[3].role = Role::state;
  EXPECT_TRUE(example.kernels().empty()) << "4,096 rows in an entry that keeps no tokens";
  example.gemm().m = 16;
  EXPECT_FALSE(example.kernels().empty());
  example.gemm().m = 17;
  EXPECT_TRUE(example.kernels().empty());
}

/// They are read before the steps in front have ended.
TEST(SmallM, WeightsAreAStateThatTheEntryDoesNotWrite) {
  Example written;
  written.program.buffers.push_back(buffer_of(Role::parameter, DType::bf16, 0));
  written.program.entries[0].steps.push_back(step_of(FillStep{{4, 0}, 8}, {}, {4}));
  EXPECT_TRUE(written.kernels().empty());
  Example temporary;
  temporary.program.buffers[1].state = -1;
  EXPECT_TRUE(temporary.kernels().empty());
}

TEST(SmallM, OtherFormsAreTheLibrarys) {
  const std::function<void(GemmStep&)> changes[] = {
      [](GemmStep& gemm) { gemm.dtype = DType::f32; },
      [](GemmStep& gemm) { gemm.beta = 1; },
      [](GemmStep& gemm) { gemm.batch.push_back({2, 0, 0, 0}); },
      [](GemmStep& gemm) { std::swap(gemm.b.row_stride, gemm.b.column_stride); },
      [](GemmStep& gemm) { gemm.a = {{0, 0}, 1, 64}; },
      [](GemmStep& gemm) { gemm.c = {{2, 0}, 1, 64}; }};
  for (const auto& change : changes) {
    Example example;
    change(example.gemm());
    EXPECT_TRUE(example.kernels().empty()) << &change - changes;
  }
}

TEST(SmallM, TheirCodeNeitherSpillsNorHasAStack) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  for (const auto& [capability, result] : {std::pair(80, DType::bf16), {90, DType::bf16}, {90, DType::f32}}) {
    std::vector<CudaSource> sources;
    std::vector<SmallM> kernels = Example(DType::bf16, result, result == DType::bf16).kernels();
    std::ranges::copy(small_m_chains(DType::bf16, result), std::back_inserter(kernels));
    for (const SmallM& few : kernels) sources.push_back({small_m_kernel(few).source, few.name()});
    for (const Cubin& cubin : compile_cuda(sources, capability))
      EXPECT_EQ(std::pair(cubin.resources.stack_bytes, cubin.resources.spill_bytes), std::pair(0, 0));
  }
}

// ---- what they compute

double widened(uint16_t bits, DType dtype) { return dtype == DType::bf16 ? from_bf16(bits) : from_f16(bits); }

/// Numbers are multiples of 1 / kUnit, so that sums of products are exact in float64 (but not in f32).
constexpr float kUnit = 1 << 14;

struct Halves {
  std::vector<uint16_t> bits;
  DType dtype;
  Halves(size_t count, DType type, std::mt19937& random) : bits(count), dtype(type) {
    std::normal_distribution<float> normal;
    for (uint16_t& x : bits) {
      const float value = std::round(normal(random) * kUnit) / kUnit;
      x = type == DType::bf16 ? to_bf16(value) : to_f16(value);
    }
  }
  double operator[](size_t i) const { return widened(bits[i], dtype); }
};

/// Operands of the most rows; results of fewer have rows that must stay as they were.
struct Product {
  static constexpr int64_t kRows = 24, kGap = 8;
  int64_t n, k, a_pitch = k + kGap, b_pitch = k + 2 * kGap, c_pitch = n + 3;
  DType dtype, result;
  std::mt19937 random{static_cast<unsigned>(n * 1000 + k)};
  Halves a{static_cast<size_t>(kRows * a_pitch + kGap), dtype, random},
      b{static_cast<size_t>(n * b_pitch + kGap), dtype, random}, bias{static_cast<size_t>(n), dtype, random};

  size_t width() const { return static_cast<size_t>(size_of(result)); }
  /// The rows from `first` on; all else is poison.
  std::vector<std::byte> run(const SmallMOnHost& host, size_t kernel, int64_t first, int64_t m) const {
    std::vector<std::byte> c(static_cast<size_t>(kRows * c_pitch) * width(), std::byte{0xFF});
    const auto address = [](const auto* to) { return reinterpret_cast<cuda::DevicePointer>(to); };
    const bool took =
        host.run(kernel, {.addresses = {{"a", address(&a.bits[static_cast<size_t>(first * a_pitch)])},
                                        {"b", address(b.bits.data())},
                                        {"c", address(c.data())},
                                        {"bias", address(bias.bits.data())}},
                          .integers = {{"m", m},
                                       {"n", n},
                                       {"k", k},
                                       {"a_row_stride", a_pitch},
                                       {"b_column_stride", b_pitch},
                                       {"c_row_stride", c_pitch}},
                          .reals = {{"alpha", 0.5}}});
    if (!took) c.clear();
    return c;
  }
  double result_at(const std::vector<std::byte>& c, int64_t row, int64_t column) const {
    const std::byte* at = c.data() + static_cast<size_t>(row * c_pitch + column) * width();
    float wide = 0;
    uint16_t half = 0;
    if (width() == 4) return std::memcpy(&wide, at, 4), wide;
    return std::memcpy(&half, at, 2), widened(half, result);
  }
  double expected(int64_t row, int64_t column, bool has_bias) const {
    double sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += a[static_cast<size_t>(row * a_pitch + i)] * b[static_cast<size_t>(column * b_pitch + i)];
    return 0.5 * sum + (has_bias ? bias[static_cast<size_t>(column)] : 0);
  }
  /// Half of a chain: an f32 number, to which blocks of 16 products are added, each with one rounding.
  float expected_chain(int64_t row, int64_t column) const {
    float sum = 0;
    for (int64_t begin = 0; begin < k; begin += 16) {
      double block = sum;
      for (int64_t i = begin; i < std::min(begin + 16, k); ++i)
        block += a[static_cast<size_t>(row * a_pitch + i)] * b[static_cast<size_t>(column * b_pitch + i)];
      sum = static_cast<float>(block);
    }
    const float half = 0.5F * sum;
    if (result == DType::f32) return half;
    return result == DType::bf16 ? from_bf16(to_bf16(half)) : from_f16(to_f16(half));
  }
  void expect_chains(const std::vector<std::byte>& c, int64_t m) const {
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column)
        ASSERT_EQ(static_cast<float>(result_at(c, row, column)), expected_chain(row, column))
            << row << " " << column << " of " << m << " x " << n << " x " << k;
  }
  void expect_close(const std::vector<std::byte>& c, int64_t m, bool has_bias) const {
    double off = 0, square = 1e-30;
    for (int64_t row = 0; row < kRows; ++row)
      for (int64_t column = 0; column < c_pitch; ++column) {
        const double found = result_at(c, row, column);
        if (row >= m || column >= n) {
          EXPECT_TRUE(std::isnan(found)) << row << " " << column << " is none of its";
          continue;
        }
        const double right = expected(row, column, has_bias);
        off += (found - right) * (found - right), square += right * right;
      }
    const double bound = result == DType::f32 ? 2e-6 : result == DType::bf16 ? 4e-3 : 6e-4;
    EXPECT_LE(std::sqrt(off / square), bound) << m << " x " << n << " x " << k;
  }
};

std::vector<SmallM> kernels_of(DType dtype, DType result, bool has_bias) {
  return Example(dtype, result, has_bias).kernels();
}

const int64_t kCounts[] = {1, 2, 3, 7, 8, 9, 16, 17};

TEST(SmallMOnHost, ComputesProducts) {
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const DType result : {dtype, DType::f32}) {
      const bool has_bias = result == dtype;
      const std::vector<SmallM> kernels = kernels_of(dtype, result, has_bias);
      const SmallMOnHost host(kernels);
      for (const auto& [n, k] : {std::pair(1, 8), {33, 264}, {17, 1544}}) {
        const Product product{.n = n, .k = k, .dtype = dtype, .result = result};
        for (size_t kernel = 0; kernel < kernels.size(); ++kernel)
          for (const int64_t m : kCounts) {
            if (m % 3 == 2 && k > 8) continue;
            const auto found = product.run(host, kernel, 0, m);
            EXPECT_EQ(found.empty(), m > kernels[kernel].rows || k < kernels[kernel].least_sums);
            if (!found.empty()) product.expect_close(found, m, has_bias);
          }
      }
    }
}

/// More tiles than blocks: each goes on with the next.
TEST(SmallMOnHost, BlocksGoOnWithOtherTiles) {
  const std::vector<SmallM> kernels = kernels_of(DType::bf16, DType::f32, false);
  const SmallMOnHost host(kernels);
  const Product product{.n = 4291, .k = 264, .dtype = DType::bf16, .result = DType::f32};
  product.expect_close(product.run(host, 1, 0, 3), 3, false);
}

/// Alone, among others, at any place, by any of the kernels.
TEST(SmallMOnHost, ARowHasTheSameBitsInEveryBatch) {
  const std::vector<SmallM> kernels = kernels_of(DType::bf16, DType::f32, false);
  const SmallMOnHost host(kernels);
  const Product product{.n = 40, .k = 4104, .dtype = DType::bf16, .result = DType::f32};
  const auto first_half = product.run(host, 5, 0, 16);
  const size_t row_bytes = static_cast<size_t>(product.n) * product.width(),
               pitch = static_cast<size_t>(product.c_pitch) * product.width();
  for (size_t kernel = 0; kernel < kernels.size(); ++kernel)
    for (const int64_t m : kCounts)
      for (const int64_t first : {0, 5}) {
        if (m > kernels[kernel].rows || first + m > 16) continue;
        const auto some = product.run(host, kernel, first, m);
        for (size_t row = 0; row < static_cast<size_t>(m); ++row)
          EXPECT_EQ(std::memcmp(&some[row * pitch], &first_half[(row + static_cast<size_t>(first)) * pitch],
                                row_bytes),
                    0)
              << "row " << row << " of " << m << " from " << first << " on by kernel " << kernel;
      }
}

// ---- chains

TEST(SmallMChains, AreTheKernelsOfStepsInOrder) {
  Example example;
  example.gemm().in_order = true;
  std::vector<std::string> names;
  for (const SmallM& few : example.kernels()) {
    EXPECT_FALSE(small_m_kernel(few).launch->measured);
    names.push_back(few.name());
  }
  ASSERT_EQ(names.size(), 8U);
  EXPECT_EQ(names[0], "smelt_chain_few_08_08_2_bf16_bf16");
  EXPECT_TRUE(std::ranges::is_sorted(names)) << "a step tries its kernels in the order of their names";
  EXPECT_LT(names.back(), "smelt_chain_gemm");
}

TEST(SmallMChains, AddBlocksOf16InOrder) {
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const DType result : {dtype, DType::f32}) {
      const std::vector<SmallM> kernels = small_m_chains(dtype, result);
      const SmallMOnHost host(kernels);
      for (const auto& [n, k] : {std::pair(1, 8), {33, 264}, {17, 1544}, {50, 48}})
        for (size_t kernel = 0; kernel < kernels.size(); ++kernel)
          for (int64_t m = 1 + static_cast<int64_t>(kernel) % 2; m <= 17; m += k > 8 ? 5 : 1) {
            const Product product{.n = n, .k = k, .dtype = dtype, .result = result};
            const auto found = product.run(host, kernel, 0, m);
            ASSERT_EQ(found.empty(), m > kernels[kernel].rows);
            if (found.empty()) continue;
            product.expect_close(found, m, false);
            product.expect_chains(found, m);
          }
    }
}

/// More tiles than warps: each goes on with the next.
TEST(SmallMChains, WarpsGoOnWithOtherTiles) {
  const std::vector<SmallM> kernels = small_m_chains(DType::bf16, DType::f32);
  const SmallMOnHost host({kernels[1], kernels[3]});
  const Product few{.n = 5279, .k = 40, .dtype = DType::bf16, .result = DType::f32};
  few.expect_chains(few.run(host, 0, 0, 3), 3);
  const Product many{.n = 132 * 8 * 16 + 5, .k = 24, .dtype = DType::bf16, .result = DType::f32};
  many.expect_chains(many.run(host, 1, 0, 2), 2);
}

TEST(SmallMOnHost, SizesThatItDoesNotTakeAreTheLibrarys) {
  const SmallMOnHost host(kernels_of(DType::bf16, DType::bf16, false));
  EXPECT_TRUE(
      Product({.n = 4, .k = 12, .dtype = DType::bf16, .result = DType::bf16}).run(host, 1, 0, 1).empty());
  EXPECT_TRUE(Product({.n = 4, .k = 16, .a_pitch = 20, .dtype = DType::bf16, .result = DType::bf16})
                  .run(host, 1, 0, 1)
                  .empty());
  EXPECT_TRUE(Product({.n = 4, .k = 16, .b_pitch = 20, .dtype = DType::bf16, .result = DType::bf16})
                  .run(host, 1, 0, 1)
                  .empty());
  EXPECT_FALSE(
      Product({.n = 4, .k = 16, .dtype = DType::bf16, .result = DType::bf16}).run(host, 1, 0, 1).empty());
}

}  // namespace
}  // namespace smelt::test
