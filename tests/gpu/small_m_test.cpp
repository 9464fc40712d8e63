// Matmuls of few rows on a GPU: against float64, row by row in batches of any size, and one behind the other
// where each may begin before the one in front has ended.
#include <cstring>

#include "runtime/base/half.h"
#include "tests/gpu/small_m.h"

namespace smelt::small_m_test {
namespace {

using cuda::check;
using cuda::driver;

class GpuSmallM : public GpuTest {};

/// The kernels whose warps share sums, and those whose sums are chains.
std::vector<SmallM> all_kernels(DType result) {
  std::vector<SmallM> all = small_m(DType::bf16, result, false);
  std::ranges::copy(small_m_chains(DType::bf16, result), std::back_inserter(all));
  return all;
}

std::vector<uint16_t> random_halves(int64_t count, float deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<uint16_t> halves(static_cast<size_t>(count));
  for (uint16_t& half : halves) half = to_bf16(normal(random));
  return halves;
}

template <typename T>
cuda::DeviceBlock uploaded(const std::vector<T>& values) {
  auto block = cuda::device_block(cuda::Device::open(), static_cast<int64_t>(values.size() * sizeof(T)));
  check(driver().MemcpyHtoDAsync(block.get(), values.data(), values.size() * sizeof(T), nullptr), "test");
  check(driver().StreamSynchronize(nullptr), "test");
  return block;
}

template <typename T>
std::vector<T> downloaded(cuda::DevicePointer from, size_t count) {
  std::vector<T> values(count);
  check(driver().MemcpyDtoHAsync(values.data(), from, count * sizeof(T), nullptr), "test");
  check(driver().StreamSynchronize(nullptr), "test");
  return values;
}

/// Rows of x by weights; results of 64 rows, which are poison at first.
struct Example {
  static constexpr int64_t kRows = 64;
  int64_t n, k;
  std::vector<uint16_t> x = random_halves(kRows * k, 1, 1), weights = random_halves(n * k, 1, 2);
  cuda::DeviceBlock device_x = uploaded(x), device_weights = uploaded(weights),
                    device_y = cuda::device_block(cuda::Device::open(), kRows* n * 4);

  std::vector<float> run(const LoadedSmallM& kernel, int64_t first, int64_t m) const {
    check(driver().MemsetD8Async(device_y.get(), 0xFF, static_cast<size_t>(kRows * n * 4), nullptr), "test");
    const auto launch = kernel.launch({device_x.get() + static_cast<cuda::DevicePointer>(2 * first * k),
                                       device_weights.get(), device_y.get(), m, n, k},
                                      false);
    if (!launch) return {};
    check(launch->run(nullptr), "test");
    return downloaded<float>(device_y.get(), static_cast<size_t>(kRows * n));
  }
  double expected(int64_t row, int64_t column) const {
    double sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += double{from_bf16(x[static_cast<size_t>(row * k + i)])} *
             from_bf16(weights[static_cast<size_t>(column * k + i)]);
    return sum;
  }
};

/// The relative error of f32 results. Each of the blocks of a chain is added with an error of up to 2^-23 of
/// the sum so far, which the tensor cores round towards zero; on average, both are half of that.
double product_bound(const SmallM& few, int64_t k) {
  const double blocks = static_cast<double>(k) / 16;
  return few.warps > 0 ? 2e-6 + blocks * 0x1p-25 : 2e-6;
}

TEST_F(GpuSmallM, ComputesProducts) {
  for (const SmallM& few : all_kernels(DType::f32)) {
    const LoadedSmallM kernel(few);
    for (const auto& [n, k] : {std::pair(1, 8), {33, 264}, {777, 1544}, {1280, 5120}}) {
      if (k < few.least_sums) continue;
      const Example example{n, k};
      for (const int64_t m : {1, 2, 7, few.rows - 1, few.rows}) {
        const std::vector<float> y = example.run(kernel, 0, m);
        double off = 0, square = 0;
        for (int64_t row = 0; row < Example::kRows; ++row)
          for (int64_t column = 0; column < n; column += 1 + n / 64) {
            const double found = y.at(static_cast<size_t>(row * n + column));
            if (row >= m) {
              ASSERT_TRUE(std::isnan(found)) << row << " is not written";
              continue;
            }
            const double right = example.expected(row, column);
            off += (found - right) * (found - right), square += right * right;
          }
        EXPECT_LE(std::sqrt(off / square), product_bound(few, k))
            << few.name() << ": " << m << " x " << n << " x " << k;
      }
    }
  }
}

TEST_F(GpuSmallM, ARowHasTheSameBitsInEveryBatch) {
  std::vector<LoadedSmallM> kernels;
  const std::vector<SmallM> all = small_m(DType::bf16, DType::f32, false);
  for (const SmallM& few : all) kernels.emplace_back(few);
  for (const auto& [n, k] : {std::pair(40, 4104), {1280, 5120}, {2048, 4096}}) {
    const Example example{n, k};
    const std::vector<float> together = example.run(kernels.back(), 0, 16);
    for (size_t kernel = 0; kernel < all.size(); ++kernel)
      for (const int64_t m : {1, 2, 3, 7, 8, 9, 16})
        for (const int64_t first : {0, 5}) {
          if (m > all[kernel].rows || first + m > 16) continue;
          const std::vector<float> some = example.run(kernels[kernel], first, m);
          EXPECT_EQ(std::memcmp(some.data(), &together[static_cast<size_t>(first * n)],
                                static_cast<size_t>(m * n * 4)),
                    0)
              << m << " rows from " << first << " on by " << all[kernel].name();
        }
  }
}

/// Each reads what the one in front of it has written; the last result is that of launches in order.
TEST_F(GpuSmallM, LaunchesThatBeginEarlyWaitForWhatTheyRead) {
  constexpr int64_t kWidth = 1024, kLaunches = 200;
  const cuda::Device& device = cuda::Device::open();
  const cuda::StreamOwner stream = cuda::make_stream(device);
  for (const SmallM& few : all_kernels(DType::bf16)) {
    if (kWidth < few.least_sums) continue;
    const LoadedSmallM kernel(few);
    const int64_t m = few.rows;
    const auto x = uploaded(random_halves(m * kWidth, 1, 3));
    std::vector<cuda::DeviceBlock> weights, places;
    for (unsigned i = 0; i < 3; ++i) {
      weights.push_back(uploaded(random_halves(kWidth * kWidth, 1.0F / 32, 4 + i)));
      places.push_back(cuda::device_block(device, m * kWidth * 2));
    }
    const auto chain = [&](bool dependent, bool graph) {
      const auto launches = [&] {
        for (size_t i = 0; i < kLaunches; ++i) {
          const auto launch = kernel.launch({i == 0 ? x.get() : places[(i + 2) % 3].get(),
                                             weights[i % 3].get(), places[i % 3].get(), m, kWidth, kWidth},
                                            dependent && i > 0);
          check(launch->run(stream.get()), "test");
        }
      };
      if (graph) {
        const cuda::GraphOwner captured = cuda::captured(stream.get(), launches);
        for (int run = 0; run < 10; ++run) check(driver().GraphLaunch(captured.get(), stream.get()), "test");
        check(driver().StreamSynchronize(stream.get()), "test");
      } else {
        launches();
      }
      check(driver().StreamSynchronize(stream.get()), "test");
      return downloaded<uint16_t>(places[(kLaunches - 1) % 3].get(), static_cast<size_t>(m * kWidth));
    };
    const std::vector<uint16_t> expected = chain(false, false);
    EXPECT_TRUE(std::isfinite(from_bf16(expected[5])) && from_bf16(expected[5]) != 0);
    EXPECT_EQ(chain(true, false), expected) << few.name();
    EXPECT_EQ(chain(true, true), expected) << few.name() << " as a graph";
  }
}

}  // namespace
}  // namespace smelt::small_m_test
