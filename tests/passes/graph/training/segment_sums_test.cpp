// Sums by segment over flat states whose segments are of any size and at any place.
#include "passes/graph/training/segment_sums.h"

#include "tests/passes/support.h"

namespace smelt {
namespace {

/// Segments one after the other with gaps: [elements, gap behind].
State flat_state(const std::vector<std::pair<int64_t, int64_t>>& parts) {
  State flat;
  flat.name = "flat";
  int64_t end = 0;
  for (const auto& [elements, gap] : parts) {
    Segment segment;
    segment.name = "s" + std::to_string(flat.segments.size());
    segment.shape = {elements};
    segment.offset = end;
    flat.segments.push_back(segment);
    end += elements + gap;
  }
  flat.shape = {end};
  return flat;
}

class SegmentSumsOf : public ::testing::TestWithParam<std::tuple<int, int64_t>> {};

TEST_P(SegmentSumsOf, AreThoseOfALoop) {
  static const std::vector<std::vector<std::pair<int64_t, int64_t>>> kStates = {
      {{1, 0}},
      {{7, 0}},
      {{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 12}},
      {{33, 15}, {3, 0}, {1, 0}, {197, 11}, {16, 0}, {5, 3}, {777, 7}},
      {{100, 4}, {2, 0}, {2, 0}, {2, 0}, {2, 0}, {2, 0}, {2, 0}, {2, 0}, {2, 0}, {2, 9}},
  };
  const auto& [index, chunk] = GetParam();
  const State flat = flat_state(kStates[static_cast<size_t>(index)]);
  Module module;
  Graph& graph = module.add_graph("main");
  GraphBuilder b(graph);
  const SegmentSums segments(b, flat, chunk);
  Value* x = b.input("x", {DType::f32, flat.shape});
  Value* sums = segments.sums(segments.rows(x));
  b.output("sums", sums);
  b.output("spread", segments.spread(sums));
  testing::expect_valid(graph);
  const Tensors inputs = testing::random_inputs(graph, 7, {});
  const Tensors outputs = evaluate(graph, inputs, {}, {}).outputs;
  const std::vector<double>& data = inputs.at("x").data;
  for (size_t s = 0; s < flat.segments.size(); ++s) {
    double sum = 0;
    const Segment& segment = flat.segments[s];
    for (int64_t i = 0; i < segment.elements(); ++i) sum += data[static_cast<size_t>(segment.offset + i)];
    EXPECT_NEAR(outputs.at("sums").data[s], sum, 1e-9) << segment.name;
    for (int64_t i = 0; i < segment.elements(); ++i)
      EXPECT_EQ(outputs.at("spread").data[static_cast<size_t>(segment.offset + i)],
                outputs.at("sums").data[s])
          << segment.name << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SegmentSumsOf,
                         ::testing::Combine(::testing::Range(0, 5), ::testing::Values(1, 3, 16, 33, 4096)));

}  // namespace
}  // namespace smelt
