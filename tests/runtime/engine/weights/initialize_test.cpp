#include "runtime/engine/weights/initialize.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/engine/weights/draws.h"
#include "runtime/system/file.h"

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

/// A state that is filled by parts, wherever they are cut, is the one that is filled at once.
TEST(Initialize, PartsMakeTheWhole) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    State state{
        .name = "parameters", .role = Role::parameter, .dtype = dtype, .shape = {Dim(3000)}, .init = {}};
    state.segments.push_back({"w", {31, 33}, 5, kNormal, true, {}, false});
    state.segments.push_back({"u", {777}, 1100, kUniform, true, {}, false});
    state.segments.push_back({"b", {7}, 2990, {Initializer::Kind::value, 2.5, 0}, false, {}, false});
    std::vector<std::byte> whole(static_cast<size_t>(3000 * size_of(dtype))), parts(whole.size());
    initialize_state(state, 9, whole);
    const size_t width = static_cast<size_t>(size_of(dtype));
    for (const size_t step : {1, 3, 31, 197, 777, 2999}) {
      std::ranges::fill(parts, std::byte{0xFF});
      for (size_t begin = 0; begin < parts.size(); begin += step * width)
        initialize_state(state, 9,
                         std::span(parts).subspan(begin, std::min(step * width, parts.size() - begin)),
                         static_cast<int64_t>(begin), static_cast<int64_t>(parts.size()));
      EXPECT_EQ(parts, whole) << step;
    }
  }
}

/// The formula over the C library's functions, whose last bits are another matter on every machine.
float normal_of(const Philox& philox, uint32_t id, double scale, int64_t element) {
  const int64_t group = element / 4;
  const auto w =
      philox.words(id, static_cast<uint32_t>(group >> 24), static_cast<uint32_t>(group & 0xFFFFFF) * 8);
  const auto unit = [&](int64_t i) { return (w[static_cast<size_t>(i)] + 0.5) * 0x1p-32; };
  const int64_t pair = element % 4 / 2 * 2;
  const double radius = scale * std::sqrt(-2 * std::log(unit(pair))),
               angle = 2 * std::numbers::pi * unit(pair + 1);
  return static_cast<float>(radius * (element % 2 ? std::sin(angle) : std::cos(angle)));
}

/// Near halfway between two floats either may come out; one value in 2^20 is so near at most.
TEST(Initialize, NormalsAreTheFormulasButForRounding) {
  constexpr int64_t kCount = 1 << 20;
  std::vector<float> x(kCount);
  for (const uint32_t seed : {0u, 7u, 0xFFFFFFFFu})
    for (const double scale : {0.02, 1.0 / 3, 1e-30}) {
      const Philox philox{seed, 0xFFFFFFFFu, 0};
      const int64_t first = int64_t{seed} * 4;  // beyond 2^24 groups too
      Draws(philox, seed * 3 + 1, scale).normal(first, kCount, x.data());
      int64_t different = 0;
      for (int64_t i = 0; i < kCount; ++i) {
        const float expected = normal_of(philox, seed * 3 + 1, scale, first + i);
        if (x[i] == expected) continue;
        ++different;
        ASSERT_EQ(std::nextafter(x[i], expected), expected) << seed << " " << i;
      }
      EXPECT_LE(different, 1);
    }
}

/// Whatever the processor: its widest vectors contract nothing and reorder nothing.
TEST(Initialize, AMillionValuesDoNotChange) {
  std::vector<float> x(1 << 20);
  const Draws draws(Philox{11, 0xFFFFFFFFu, 0}, 13, 0.02);
  const auto sum = [&] {
    Checksum checksum;
    checksum.add(std::as_bytes(std::span(x)));
    return checksum.hex();
  };
  draws.normal(5, 1 << 20, x.data());
  EXPECT_EQ(sum(), "47dd0d6b5a9816e4");
  draws.uniform(5, 1 << 20, x.data());
  EXPECT_EQ(sum(), "f2aa01d459f38a82");
}

/// Values of before there were vectors.
TEST(Initialize, ValuesDoNotChange) {
  const std::vector<float> normal = values(kNormal, "a", 1, 6), uniform = values(kUniform, "a", 1, 6);
  EXPECT_EQ(normal, std::vector<float>({0x1.06da6ap-2f, -0x1.44c4bap-2f, 0x1.1464ccp+0f, -0x1.14987ep-2f,
                                        0x1.d4e2a8p-1f, -0x1.88a9e6p-3f}));
  EXPECT_EQ(uniform, std::vector<float>({0x1.bc0178p-4f, 0x1.6ee422p-3f, -0x1.aa0322p-3f, 0x1.d80bf2p-3f,
                                         -0x1.4e35d2p-3f, 0x1.de5d8ap-3f}));
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
