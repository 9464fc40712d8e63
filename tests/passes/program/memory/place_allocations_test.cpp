// Placement of random allocations: none overlap, no arena is larger than by decreasing size, and where all
// fit without a gap, nearly that is found.
#include "passes/program/memory/place_allocations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "passes/program/memory/first_fit.h"

namespace smelt {
namespace {

constexpr int kSteps = 64;

Allocation allocation(Lifetime life) {
  Allocation made{.buffers = {0}, .life = std::move(life), .ranges = {}};
  made.ranges = live_ranges(made.life, 0);
  return made;
}

/// Cuts a rectangle of bytes and steps in two, again and again: the pieces fit into `bytes` without a gap.
void cut(int64_t bytes, int first, int last, std::mt19937_64& random, std::vector<Allocation>& pieces) {
  const int64_t units = bytes / kArenaAlignment;
  const bool small = units < 2 && first == last;
  if (small || (units < 32 && random() % 3 == 0))
    return pieces.push_back(allocation({.first = first, .last = last, .bytes = bytes, .parts = {}}));
  if (units > 1 && (first == last || random() % 2 == 0)) {
    const int64_t lower =
        (1 + static_cast<int64_t>(random() % static_cast<uint64_t>(units - 1))) * kArenaAlignment;
    cut(lower, first, last, random, pieces), cut(bytes - lower, first, last, random, pieces);
  } else if (first < last) {
    const int middle = first + static_cast<int>(random() % static_cast<uint64_t>(last - first));
    cut(bytes, first, middle, random, pieces), cut(bytes, middle + 1, last, random, pieces);
  } else {
    pieces.push_back(allocation({.first = first, .last = last, .bytes = bytes, .parts = {}}));
  }
}

std::vector<Allocation> cut_rectangle(int64_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Allocation> pieces;
  cut(bytes, 0, kSteps - 1, random, pieces);
  std::ranges::shuffle(pieces, random);
  return pieces;
}

/// A flat buffer whose parts are written one by one and live to the end.
Allocation flat_buffer(int64_t bytes, int parts, std::mt19937_64& random) {
  Lifetime life{.first = kSteps, .last = kSteps - 1, .bytes = bytes, .parts = {}};
  for (int i = 0; i < parts; ++i) {
    const int first = static_cast<int>(random() % kSteps);
    life.parts.push_back({i * (bytes / parts), first, kSteps - 1});
    life.first = std::min(life.first, first);
  }
  return allocation(life);
}

std::vector<Allocation> with_flat_buffers(uint64_t seed) {
  std::vector<Allocation> all = cut_rectangle(128 * kArenaAlignment, seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2; ++i) all.insert(all.begin() + i, flat_buffer(20'000 + 40 * i, 10, random));
  return all;
}

void expect_disjoint(const std::vector<Allocation>& all, const ArenaPlacement& placement) {
  std::vector<std::vector<LiveRange>> placed;
  for (size_t i = 0; i < all.size(); ++i) {
    placed.push_back(live_ranges(all[i].life, placement.offsets[i]));
    EXPECT_EQ(placement.offsets[i] % kArenaAlignment, 0);
    EXPECT_LE(placed[i].back().end, placement.bytes);
    for (size_t j = 0; j < i; ++j)
      for (const LiveRange& a : placed[i])
        for (const LiveRange& b : placed[j]) EXPECT_FALSE(a.overlaps(b)) << i << " and " << j;
  }
}

ArenaPlacement placement_of(const std::vector<Allocation>& all) {
  return place_allocations(all, least_bytes(all, kSteps));
}

class RandomAllocations : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomAllocations, OverlapNowhere) {
  const std::vector<Allocation> all = with_flat_buffers(GetParam());
  const std::vector<int64_t> least = least_bytes(all, kSteps);
  const ArenaPlacement placement = place_allocations(all, least);
  expect_disjoint(all, placement);
  EXPECT_GE(placement.bytes, std::ranges::max(least));
  FirstFit by_size(all);
  EXPECT_LE(placement.bytes, by_size.place(placement_orders(all, least).front()));
}

TEST_P(RandomAllocations, AreAtTheSamePlacesAgain) {
  const std::vector<Allocation> all = with_flat_buffers(GetParam());
  const ArenaPlacement one = placement_of(all), two = placement_of(all);
  EXPECT_EQ(one.bytes, two.bytes);
  EXPECT_EQ(one.offsets, two.offsets);
}

TEST_P(RandomAllocations, OfACutRectangleFitAlmostWithoutAGap) {
  constexpr int64_t kBytes = 128 * kArenaAlignment;
  const std::vector<Allocation> all = cut_rectangle(kBytes, GetParam());
  EXPECT_EQ(std::ranges::max(least_bytes(all, kSteps)), kBytes);
  const ArenaPlacement placement = placement_of(all);
  expect_disjoint(all, placement);
  EXPECT_LE(placement.bytes, kBytes + kBytes * 15 / 100) << all.size() << " allocations";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomAllocations, ::testing::Range<uint64_t>(0, 16));

/// By size, "flat" is placed at 0 and what is saved, which the last of its parts leaves no room, above it. In
/// the other order "saved" has the memory of the parts that are written when it is dead.
TEST(PlaceAllocations, SavedValuesAreWhereGradientsWillBe) {
  const std::vector<Allocation> all = {
      allocation({.first = 1, .last = 9, .bytes = 4096, .parts = {{0, 5, 9}, {2048, 1, 9}}}),
      allocation({.first = 0, .last = 4, .bytes = 2048, .parts = {}}),
      allocation({.first = 0, .last = 0, .bytes = 2048, .parts = {}})};
  EXPECT_EQ(placement_of(all).bytes, 4096);
}

TEST(PlaceAllocations, NothingTakesNothing) {
  EXPECT_EQ(place_allocations({}, {}).bytes, 0);
  EXPECT_EQ(place_allocations({}, {0, 0}).bytes, 0);
}

/// Padding of whole buffers to the alignment is no waste; of parts only what they certainly fill counts.
TEST(LeastBytes, CountWhatNoPlacementCanUndercut) {
  const std::vector<Allocation> all = {
      allocation({.first = 0, .last = 1, .bytes = 4, .parts = {}}),
      allocation({.first = 0, .last = 2, .bytes = 1000, .parts = {{0, 0, 2}, {300, 1, 2}}})};
  EXPECT_EQ(least_bytes(all, 3), (std::vector<int64_t>{512, 256 + 256 + 256, 256 + 256}));
}

}  // namespace
}  // namespace smelt
