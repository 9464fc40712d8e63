// The built-in kernels of scan and top_k, their texts compiled for the host and launched as a plan says,
// against the CPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "codegen/cuda/step_kernels.h"
#include "runtime/cpu/library_steps.h"
#include "tests/support/cuda_on_host/host_kernels.h"

namespace smelt::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// ---- scan

template <typename T>
void expect_the_cpus_scan(const HostKernels& kernels, const ScanSizes& sizes, const std::vector<T>& x) {
  const auto elements = static_cast<size_t>(sizes.outer * sizes.count * sizes.inner);
  std::vector<T> expected(elements + 8, T(-77)), found = expected;
  scan(sizes, x.data(), expected.data());
  const int launches = kernels.run({.addresses = {{"x", address_of(x)}, {"y", address_of(found)}},
                                    .integers = {{"outer", sizes.outer},
                                                 {"count", sizes.count},
                                                 {"inner", sizes.inner},
                                                 {"x_outer_stride", sizes.x_outer_stride},
                                                 {"x_stride", sizes.x_stride},
                                                 {"y_outer_stride", sizes.y_outer_stride},
                                                 {"y_stride", sizes.y_stride}}});
  EXPECT_EQ(launches, 1);
  // A product has a rounding a factor, in whatever order; a sum has few, as it is a sum of sums.
  const double bound = sizes.kind == "mul" ? 1e-5 + 6e-8 * static_cast<double>(sizes.count) : 1e-5;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == found[i]) continue;
    const double a = expected[i], b = found[i];
    ASSERT_LE(std::abs(a - b), bound * std::abs(a) + 1e-6) << i;
  }
}

template <typename T>
void expect_scans(const std::string& kind, bool exclusive) {
  const DType dtype = std::is_same_v<T, float> ? DType::f32 : DType::i32;
  SCOPED_TRACE(fmt::format("{} {} {}", kind, name(dtype), exclusive));
  const HostKernels kernels(scan_kernels(kind, dtype, exclusive));
  std::mt19937 random(3);
  // Of products: near enough to 1 that a row of them stays a number.
  const auto draw = [&](int64_t count) {
    const double one = static_cast<double>(random() % 2001) / 1000 - 1;
    return kind == "mul" ? 1 + one / static_cast<double>(std::max<int64_t>(count, 1)) : one + 0.5;
  };
  const auto expect = [&](int64_t outer, int64_t count, int64_t inner, int64_t gap) {
    const int64_t stride = inner + (inner > 1 ? gap : 0), line = count * stride + gap;
    std::vector<T> x(static_cast<size_t>(outer * line + 1));
    for (T& value : x) value = static_cast<T>(dtype == DType::f32 ? draw(count) : draw(count) * 1000);
    expect_the_cpus_scan<T>(
        kernels, {outer, count, inner, line, stride, count * inner, inner, kind, exclusive, dtype}, x);
  };
  for (const int64_t count : {0, 1, 3, 31, 33, 777, 4096, 4097, 9001}) expect(2, count, 1, 5);
  for (const int64_t count : {1, 3, 33, 197}) expect(3, count, 7, 2);
  expect(1, 131072, 1, 0);
}

TEST(CudaScan, IsTheCpus) {
  for (const char* kind : {"add", "max", "mul"})
    for (const bool exclusive : {false, true}) expect_scans<float>(kind, exclusive);
  expect_scans<int32_t>("add", true);
  expect_scans<int32_t>("max", true);
  expect_scans<int32_t>("mul", false);
}

TEST(CudaScan, OfNoElementsIsTakenAndDoesNothing) {
  const HostKernels kernels(scan_kernels("add", DType::f32, false));
  expect_the_cpus_scan<float>(kernels, {3, 4, 0, 0, 0, 0, 0, "add", false, DType::f32}, {});
  expect_the_cpus_scan<float>(kernels, {0, 4, 1, 4, 1, 4, 1, "add", false, DType::f32}, {});
}

// ---- top_k

void expect_the_cpus_largest(const HostKernels& kernels, const TopKSizes& sizes,
                             const std::function<float(int64_t)>& element) {
  std::vector<float> x(static_cast<size_t>(sizes.rows * sizes.row_stride + 1));
  for (size_t i = 0; i < x.size(); ++i) x[i] = element(static_cast<int64_t>(i));
  const auto results = static_cast<size_t>(sizes.rows * sizes.k);
  std::vector<float> expected(results), found(results + 8, -77);
  std::vector<int32_t> places(results), found_places(results + 8, -77);
  top_k(sizes, x.data(), expected.data(), places.data());
  EXPECT_EQ(kernels.run({.addresses = {{"x", address_of(x)},
                                       {"values", address_of(found)},
                                       {"indices", address_of(found_places)}},
                         .integers = {{"rows", sizes.rows},
                                      {"count", sizes.count},
                                      {"row_stride", sizes.row_stride},
                                      {"k", sizes.k}}}),
            1);
  EXPECT_TRUE(std::equal(places.begin(), places.end(), found_places.begin()));
  EXPECT_EQ(std::memcmp(expected.data(), found.data(), results * sizeof(float)), 0);
  EXPECT_TRUE(std::all_of(found.end() - 8, found.end(), [](float value) { return value == -77; }));
}

/// The number of elements to find, and the GPU.
struct TopKCase {
  int64_t k = 1;
  int compute_capability = 0;
};
void PrintTo(const TopKCase& c, std::ostream* out) { *out << c.k << " on sm_" << c.compute_capability; }
class CudaTopK : public ::testing::TestWithParam<TopKCase> {};

TEST_P(CudaTopK, IsTheCpus) {
  const int64_t k = GetParam().k;
  const HostKernels kernels(top_k_kernels(k, GetParam().compute_capability));
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const auto expect = [&](const char* what, int64_t count, const std::function<float(int64_t)>& element) {
    SCOPED_TRACE(fmt::format("{} {}", what, count));
    expect_the_cpus_largest(kernels, {2, count, count + 3, k}, element);
  };
  for (const int64_t count : {0, 1, 3, 31, 777, 1024, 1025, 5003, 8193}) {
    expect("any", count, [&](int64_t) { return normal(random); });
    expect("equal", count, [](int64_t) { return 1.5F; });
    expect("few values", count, [&](int64_t) { return static_cast<float>(random() % 3) - 1; });
    expect("masked", count, [&](int64_t i) { return i % 97 == 5 ? normal(random) : -kInfinity; });
    expect("zeros", count, [&](int64_t) { return random() % 2 ? 0.0F : -0.0F; });
    expect("no numbers", count, [&](int64_t) { return random() % 3 ? std::nanf("") : normal(random); });
    expect("rising", count, [](int64_t i) { return static_cast<float>(i); });
    expect("close", count, [&](int64_t) { return 1 + static_cast<float>(random() % 5000) * 0x1p-23F; });
  }
}

/// In pieces, each of which begins with what those before it have found.
TEST_P(CudaTopK, OfLongRows) {
  const int64_t k = GetParam().k, count = 40003;
  const HostKernels kernels(top_k_kernels(k, GetParam().compute_capability));
  std::mt19937 random(8);
  const TopKSizes sizes{1, count, count, k};
  expect_the_cpus_largest(kernels, sizes, [](int64_t) { return 1.5F; });
  expect_the_cpus_largest(kernels, sizes, [&](int64_t) { return static_cast<float>(random() % 300); });
  expect_the_cpus_largest(kernels, sizes, [](int64_t i) { return static_cast<float>(i); });
}

TEST_P(CudaTopK, OfAVocabulary) {
  const int64_t k = GetParam().k;
  const HostKernels kernels(top_k_kernels(k, GetParam().compute_capability));
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  expect_the_cpus_largest(kernels, {1, 128256, 128256, k}, [&](int64_t) { return 3 * normal(random); });
}

/// More rows than clusters take.
TEST_P(CudaTopK, OfManyLongRows) {
  const int64_t k = GetParam().k;
  const HostKernels kernels(top_k_kernels(k, GetParam().compute_capability));
  std::mt19937 random(10);
  std::normal_distribution<float> normal;
  const int64_t rows = GetParam().compute_capability >= kClusterCapability ? kManyRows : 3;
  expect_the_cpus_largest(kernels, {rows, 8197, 8200, k}, [&](int64_t) { return normal(random); });
}

INSTANTIATE_TEST_SUITE_P(Sizes, CudaTopK,
                         ::testing::Values(TopKCase{1}, TopKCase{2}, TopKCase{5}, TopKCase{32}, TopKCase{50},
                                           TopKCase{64}, TopKCase{1000}, TopKCase{1024}, TopKCase{1, 90},
                                           TopKCase{8, 90}, TopKCase{32, 90}));

}  // namespace
}  // namespace smelt::test
