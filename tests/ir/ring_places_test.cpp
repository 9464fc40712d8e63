#include "ir/ops/ring_places.h"

#include <gtest/gtest.h>

#include "ir/evaluate/evaluator.h"

namespace smelt {
namespace {

/// What is in a ring after so many tokens that were put there one by one.
std::vector<int64_t> ring_after(int64_t tokens, int64_t places) {
  std::vector<int64_t> ring(static_cast<size_t>(places), -1);
  for (int64_t token = 0; token < tokens; ++token) ring[static_cast<size_t>(token % places)] = token;
  return ring;
}

TEST(RingPlaces, HoldTheLastTokens) {
  constexpr int64_t kPlaces = 5, kMost = 23;
  Module module;
  GraphBuilder g(module.add_graph("main"));
  const Type all{DType::i32, {kMost, kPlaces}};
  Value* tokens = g.add(g.iota({DType::i32, {kMost}}, 0), g.constant(1, {DType::i32, {kMost}}));
  const RingEnd end = ring_end(g, tokens, kPlaces);
  const auto spread = [&](Value* x) { return g.broadcast(x, {0}, all.shape); };
  g.output("held", token_at(g, g.iota(all, 1), {spread(end.last_place), spread(end.first_token)}, kPlaces));
  g.output("last", end.last_place);
  g.output("placed", place_in_ring(g, tokens, kPlaces));
  const Tensors found = evaluate(*module.graphs[0], {}, {}, {.symbols = {}, .philox = {}}).outputs;
  for (int64_t row = 0; row < kMost; ++row) {
    const std::vector<int64_t> expected = ring_after(row + 1, kPlaces);
    const auto first = found.at("held").data.begin() + row * kPlaces;
    for (int64_t place = 0; place < kPlaces; ++place)
      EXPECT_EQ(std::max(-1.0, first[place]), static_cast<double>(expected[static_cast<size_t>(place)]))
          << row + 1 << " tokens, place " << place;
    const auto number = static_cast<size_t>(row);
    EXPECT_EQ(found.at("last").data[number], static_cast<double>(row % kPlaces));
    EXPECT_EQ(found.at("placed").data[number], static_cast<double>((row + 1) % kPlaces));
  }
}

}  // namespace
}  // namespace smelt
