#include "runtime/base/packed_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace smelt {
namespace {

const PackedFormat& format(const char* name) { return *find_packed_format(name); }

TEST(PackedFormat, HasTheNumbersOfItsDefinition) {
  EXPECT_EQ(format("int4").values[0], -8);
  EXPECT_EQ(format("int4").values[15], 7);
  EXPECT_EQ(format("int8").values[0], 0);
  EXPECT_EQ(format("int8").values[0x80], -128);
  EXPECT_EQ(format("int8").values[0xFF], -1);
  EXPECT_EQ(format("int8").values[0x7F], 127);
  EXPECT_EQ(format("nf4").values[0], -1);
  EXPECT_EQ(format("nf4").values[7], 0);
  EXPECT_EQ(find_packed_format("int5"), nullptr);
}

/// Codes and numbers of e4m3 as the paper lists them.
TEST(PackedFormat, OfEightBitFloats) {
  const std::span<const float> values = format("fp8").values;
  EXPECT_EQ(values[0x38], 1);
  EXPECT_EQ(values[0xB8], -1);
  EXPECT_EQ(values[0x7E], 448);
  EXPECT_EQ(values[0x08], 0x1p-6F);
  EXPECT_EQ(values[0x07], 0.875F * 0x1p-6F);
  EXPECT_EQ(values[0x01], 0x1p-9F);
  EXPECT_EQ(values[0x39], 1.125F);
  EXPECT_TRUE(std::isnan(values[0x7F]) && std::isnan(values[0xFF]));
}

TEST(PackedFormat, FindsTheNearestNumber) {
  for (const PackedFormat& each : packed_formats())
    for (uint32_t code = 0; code < each.values.size(); ++code)
      if (!std::isnan(each.values[code])) {
        EXPECT_EQ(each.values[each.nearest(each.values[code])], each.values[code])
            << each.name << ' ' << code;
      }
  EXPECT_EQ(format("int4").nearest(100), 15u);
  EXPECT_EQ(format("int4").nearest(-100), 0u);
  EXPECT_EQ(format("int4").nearest(0.5F), 8u) << "of two, the even one";
  EXPECT_EQ(format("int4").nearest(1.5F), 10u);
  EXPECT_EQ(format("fp8").nearest(1e9F), 0x7Eu);
  EXPECT_EQ(format("fp8").nearest(-0.0F), 0u);
  EXPECT_EQ(format("fp8").nearest(1.0625F), 0x38u);
  EXPECT_EQ(format("fp8").nearest(1.1875F), 0x3Au);
}

TEST(PackedFormat, PacksNeighboursIntoTheHalvesOfAWord) {
  const std::vector<uint8_t> codes = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<uint8_t> bytes(4);
  pack(format("int4"), codes, bytes.data());
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0x20, 0x64, 0x31, 0x75}));
  std::vector<float> numbers(8);
  unpack(format("int4"), bytes.data(), numbers);
  EXPECT_EQ(numbers, (std::vector<float>{-8, -7, -6, -5, -4, -3, -2, -1}));
}

TEST(PackedFormat, PacksBytesInTheirOrder) {
  std::vector<uint8_t> bytes(4);
  pack(format("int8"), std::vector<uint8_t>{1, 2, 3, 255}, bytes.data());
  EXPECT_EQ(bytes, (std::vector<uint8_t>{1, 2, 3, 255}));
}

}  // namespace
}  // namespace smelt
