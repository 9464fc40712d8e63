// Slots of the tokens of beams that continue each other and move.
#include "runtime/engine/serving/place_rows.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

std::vector<int32_t> slots_of(const PlaceRows& places, size_t row, size_t capacity) {
  const auto all = places.first(row + 1).subspan(row * capacity, capacity);
  return {all.begin(), all.end()};
}

TEST(PlaceRows, CopiesReadTheSlotsOfThoseThatTheyContinue) {
  PlaceRows places(4, 5);
  EXPECT_FALSE(places.share());
  places.copy(0, 1, 2);
  places.copy(1, 2, 3);
  EXPECT_EQ(slots_of(places, 0, 5), (std::vector<int32_t>{0, 0, 0, 0, 0}));
  EXPECT_EQ(slots_of(places, 2, 5), (std::vector<int32_t>{0, 0, 1, 2, 2}));
  places.copy(2, 0, 4);
  EXPECT_EQ(slots_of(places, 0, 5), (std::vector<int32_t>{0, 0, 1, 2, 0}));
  EXPECT_TRUE(places.share());
  for (size_t row = 0; row < 3; ++row) places.reset(row);
  EXPECT_FALSE(places.share());
  EXPECT_EQ(slots_of(places, 2, 5), (std::vector<int32_t>(5, 2)));
}

/// Others that read the slot read the new one.
TEST(PlaceRows, MoveWithTheirSlot) {
  PlaceRows places(4, 4);
  places.copy(3, 2, 1), places.copy(2, 3, 2);
  const RowMove moves[] = {{.from = 3, .to = 0, .length = 2}};
  places.move(moves);
  EXPECT_EQ(slots_of(places, 0, 4), (std::vector<int32_t>{0, 2, 0, 0}));
  EXPECT_EQ(slots_of(places, 2, 4), (std::vector<int32_t>{0, 2, 2, 2}));
  EXPECT_EQ(slots_of(places, 3, 4), (std::vector<int32_t>(4, 3)));
}

}  // namespace
}  // namespace smelt
