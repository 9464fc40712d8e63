#include "runtime/initialize.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <vector>

#include "runtime/error.h"

namespace smelt {
namespace {

std::vector<float> values(const Initializer& init, const char* name, uint32_t seed, size_t count) {
  std::vector<float> result(count, NAN);
  initialize_values(init, name, seed, result);
  return result;
}

constexpr Initializer kNormal{Initializer::Kind::normal, 0.5, 0};
constexpr Initializer kUniform{Initializer::Kind::uniform, 0.25, 0};

struct Moments {
  double mean = 0, variance = 0, fourth = 0;
  explicit Moments(const std::vector<float>& x) {
    for (float v : x) mean += v / static_cast<double>(x.size());
    for (float v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
    for (float v : x) fourth += std::pow(v - mean, 4) / static_cast<double>(x.size());
  }
};

TEST(Initialize, NormalHasItsMoments) {
  const Moments m(values(kNormal, "a", 1, 400003));
  EXPECT_NEAR(m.mean, 0, 5 * 0.5 / std::sqrt(400003.0));
  EXPECT_NEAR(m.variance, 0.25, 5 * 0.25 * std::sqrt(2 / 400003.0));
  EXPECT_NEAR(m.fourth / (m.variance * m.variance), 3, 0.05);
}

TEST(Initialize, UniformHasItsMomentsAndBounds) {
  const std::vector<float> x = values(kUniform, "a", 1, 100003);
  const Moments m(x);
  EXPECT_NEAR(m.mean, 0, 5 * 0.25 / std::sqrt(3 * 100003.0));
  EXPECT_NEAR(m.variance, 0.0625 / 3, 3e-4);
  for (float v : x) ASSERT_LE(std::abs(v), 0.25f);
}

TEST(Initialize, OnlySeedNameAndIndexMatter) {
  const std::vector<float> x = values(kNormal, "h.0.weight", 7, 777),
                           longer = values(kNormal, "h.0.weight", 7, 100001);
  EXPECT_TRUE(std::equal(x.begin(), x.end(), longer.begin()));
  const int threads = omp_get_max_threads();
  omp_set_num_threads(3);
  EXPECT_EQ(values(kNormal, "h.0.weight", 7, 100001), longer);
  omp_set_num_threads(threads);
  EXPECT_NE(values(kNormal, "h.1.weight", 7, 777), x);
  EXPECT_NE(values(kNormal, "h.0.weight", 8, 777), x);
  EXPECT_NE(values({Initializer::Kind::normal, 0.5, 1}, "h.0.weight", 7, 777), x);
}

TEST(Initialize, OddLengths) {
  const std::vector<float> all = values(kUniform, "x", 3, 64);
  for (size_t count : {1, 3, 31, 33}) {
    const std::vector<float> x = values(kUniform, "x", 3, count);
    EXPECT_TRUE(std::equal(x.begin(), x.end(), all.begin())) << count;
  }
}

TEST(Initialize, SegmentsByNameAndZerosBetween) {
  State state{.name = "parameters", .role = Role::parameter, .shape = {Dim(48)}, .init = {}, .segments = {}};
  state.segments.push_back({"w", {3, 5}, 0, kNormal, true, {}, false});
  state.segments.push_back({"b", {7}, 32, {Initializer::Kind::value, 2.5, 0}, false, {}, false});
  std::vector<float> x(48, NAN);
  initialize_state(state, 9, std::as_writable_bytes(std::span(x)));
  const std::vector<float> w = values(kNormal, "w", 9, 15);
  EXPECT_TRUE(std::equal(w.begin(), w.end(), x.begin()));
  for (int i = 15; i < 48; ++i) EXPECT_EQ(x[i], i >= 32 && i < 39 ? 2.5f : 0.0f) << i;
  state.segments[1].offset = 42;
  EXPECT_THROW(initialize_state(state, 9, std::as_writable_bytes(std::span(x))), Error);
}

TEST(Initialize, IntegerStatesTakeValuesOnly) {
  State state{.name = "count",
              .dtype = DType::i32,
              .shape = {Dim(3)},
              .init = {Initializer::Kind::value, 4, 0},
              .segments = {}};
  std::vector<int32_t> x(3, -1);
  initialize_state(state, 0, std::as_writable_bytes(std::span(x)));
  EXPECT_EQ(x, std::vector<int32_t>(3, 4));
  state.init = kNormal;
  EXPECT_THROW(initialize_state(state, 0, std::as_writable_bytes(std::span(x))), Error);
}

}  // namespace
}  // namespace smelt
