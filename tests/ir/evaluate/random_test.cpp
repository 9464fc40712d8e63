// Philox against its definition, and how random nodes draw from it.
#include <gtest/gtest.h>

#include <array>

#include "tests/ir/evaluate/support.h"

namespace smelt {
namespace {

using testing::Numbers, testing::output;

/// The words of Philox4x32-7, from the algorithm's definition written out again: ten lines of arithmetic, no
/// shared code.
std::array<uint32_t, 4> philox_by_definition(std::array<uint32_t, 4> counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 7; ++round) {
    const uint64_t left = 3528531795ull * counter[0], right = 3449720151ull * counter[2];
    const auto high = [](uint64_t x) { return static_cast<uint32_t>(x / 4294967296ull); };
    const auto low = [](uint64_t x) { return static_cast<uint32_t>(x % 4294967296ull); };
    counter = {high(right) ^ counter[1] ^ key0, low(right), high(left) ^ counter[3] ^ key1, low(left)};
    key0 = static_cast<uint32_t>(key0 + 2654435769ull);
    key1 = static_cast<uint32_t>(key1 + 3144134277ull);
  }
  return counter;
}

TEST(Random, KnownAnswersOfPhilox) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(Philox{}.words(0, 0, 0), (Words{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}));
  EXPECT_EQ(philox_by_definition({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Words{0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}));
  // seed 7, id 3, step 5, micro step 1 of rank 2, row 11, column 29
  EXPECT_EQ((Philox{7, 5, 1 << 16 | 2}).words(3, 11, 29),
            (Words{0x9e917b48, 0x10c6c8f7, 0x5a65bce9, 0xbaee96ec}));
}

TEST(Random, DrawsSixteenBitsForEachRowAndColumn) {
  const EvaluateOptions options{{}, {7, 5, 1 << 16 | 2}, false, false};
  for (const auto& shape : std::vector<std::vector<int64_t>>{{}, {1}, {33}, {3, 31}, {2, 3, 9}}) {
    Type type{DType::i32, {}};
    for (int64_t size : shape) type.shape.push_back(size);
    const Numbers drawn = output(
        fmt::format("graph @g() {{ %0 = random {{id = 3}} : {} return r = %0 }}", str(type)), {}, options);
    const auto columns = static_cast<uint32_t>(shape.empty() ? 1 : shape.back());
    for (uint32_t i = 0; i < drawn.size(); ++i) {
      const uint32_t row = i / columns, column = i % columns;
      const auto words = philox_by_definition({5, 1 << 16 | 2, row, column / 8}, 7, 3);
      const uint32_t word = words[column % 8 / 2], half = column % 2 == 0 ? word % 65536 : word / 65536;
      ASSERT_EQ(drawn[i], half) << "element " << i << " of " << str(type);
    }
  }
}

}  // namespace
}  // namespace smelt
