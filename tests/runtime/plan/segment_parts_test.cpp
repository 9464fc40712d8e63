// Segments of which ranks hold parts.
#include "runtime/plan/segment_parts.h"

#include <gtest/gtest.h>

#include "runtime/plan/plan_file.h"
#include "tests/runtime/plan/validation_fault.h"

namespace smelt {
namespace {

using testing::validation_fault;

Segment segment_of_shape(std::vector<int64_t> shape) {
  Segment segment;
  segment.name = "w";
  segment.shape = std::move(shape);
  return segment;
}

/// Columns over two axes, of which `stage` is the outer one.
Segment cut_segment() {
  Segment segment = segment_of_shape({3, 2});
  segment.cut = {{}, {"stage", "model"}};
  segment.whole = {3, 12};
  return segment;
}

Plan plan_of(const Segment& segment) {
  Plan plan;
  plan.mesh = parse_mesh("model=2,stage=3");
  plan.states.push_back({.name = "parameters", .role = Role::parameter, .shape = {Dim(16)}, .init = {}});
  plan.states[0].segments = {segment};
  return plan;
}

TEST(SegmentParts, KnowTheirPlace) {
  const Segment segment = cut_segment();
  const Mesh mesh = plan_of(segment).mesh;
  EXPECT_TRUE(is_cut(segment));
  EXPECT_FALSE(is_cut(segment_of_shape({4})));
  EXPECT_EQ(whole_shape(segment), (std::vector<int64_t>{3, 12}));
  EXPECT_EQ(whole_shape(segment_of_shape({4})), std::vector<int64_t>{4});
  EXPECT_EQ(axes_of(segment, mesh), (std::vector<std::vector<size_t>>{{}, {1, 0}}));
  EXPECT_EQ(part_numbers(segment, mesh, std::vector<int64_t>{1, 2}), (std::vector<int64_t>{0, 5}));
  EXPECT_THROW(axes_of(segment, parse_mesh("model=2")), Error);
}

/// Every rank's runs, put in their places, cover the whole once and in row-major order within the part.
TEST(SegmentParts, RunsCoverTheWhole) {
  const Mesh mesh = parse_mesh("model=2,stage=3");
  const std::vector<std::vector<std::vector<std::string>>> cuts = {
      {{}, {"stage", "model"}, {}}, {{"model"}, {}, {"stage"}}, {{"stage"}, {}, {}}, {{}, {}, {"model"}}};
  for (const auto& cut : cuts) {
    Segment segment = segment_of_shape({6, 12, 6});
    segment.whole = segment.shape, segment.cut = cut;
    for (size_t i = 0; i < cut.size(); ++i)
      for (const std::string& axis : cut[i]) segment.shape[i] /= mesh.axes[*mesh.find(axis)].size;
    std::vector<int64_t> seen(6 * 12 * 6);
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      const auto at = mesh.coordinates(rank), numbers = part_numbers(segment, mesh, at);
      int64_t next = 0;
      for (const PartRun& run : part_runs(segment, mesh, at))
        for (int64_t i = 0; i < run.elements; ++i, ++next) {
          int64_t rest = next, place = 0, stride = 1;
          for (size_t d = 3; d-- > 0; rest /= segment.shape[d], stride *= segment.whole[d])
            place += (numbers[d] * segment.shape[d] + rest % segment.shape[d]) * stride;
          ASSERT_EQ(run.in_part + i, next);
          ASSERT_EQ(run.in_whole + i, place);
          ++seen[static_cast<size_t>(place)];
        }
      EXPECT_EQ(next, segment.elements());
    }
    const int64_t holders = segment.elements() * mesh.ranks() / (6 * 12 * 6);
    for (const int64_t count : seen) ASSERT_EQ(count, holders);
  }
}

TEST(SegmentParts, StoredShapes) {
  Segment segment = segment_of_shape({3, 2, 5});
  segment.whole = {3, 4, 5}, segment.cut = {{}, {"model"}, {}};
  EXPECT_EQ(stored_shape(segment), (std::vector<int64_t>{3, 4, 5}));
  segment.stacked = true;
  EXPECT_EQ(stored_shape(segment), (std::vector<int64_t>{12, 5}));
  segment.transposed = true;
  EXPECT_EQ(stored_shape(segment), (std::vector<int64_t>{5, 12}));
  EXPECT_EQ(stored_shape(segment_of_shape({4, 6})), (std::vector<int64_t>{4, 6}));
}

TEST(SegmentParts, SurviveThePlansFile) {
  const Plan plan = plan_of(cut_segment());
  EXPECT_EQ(validation_fault(plan), "accepted");
  const std::string file = serialize_plan(plan);
  const auto read = parse_plan(std::as_bytes(std::span(file)), "test.plan");
  EXPECT_EQ(read.states[0].segments[0], cut_segment());
}

TEST(SegmentParts, FaultsAreRefused) {
  const auto fault = [](void (*change)(Segment&)) {
    Segment segment = cut_segment();
    change(segment);
    return validation_fault(plan_of(segment));
  };
  const std::string place = "state 'parameters', segment 'w': ";
  EXPECT_EQ(fault([](Segment& s) { s.whole[1] = 11; }), place + "dim 1 is 2 of 11 over 6 ranks");
  EXPECT_EQ(fault([](Segment& s) { s.whole[0] = -3; }), place + "dim 0 is 3 of -3 over 1 ranks");
  EXPECT_EQ(fault([](Segment& s) { s.whole.clear(); }),
            place + "it is cut in 2 dims of a whole of 0: expected 2");
  EXPECT_EQ(fault([](Segment& s) { s.cut[1][0] = "data"; }),
            place + "the mesh {model = 2, stage = 3} has no axis data");
  EXPECT_EQ(fault([](Segment& s) { s.cut[0] = {"model"}; }), place + "the axis model stands twice");
  EXPECT_EQ(fault([](Segment& s) {
              s.shape = {0, int64_t{1} << 40, int64_t{1} << 20}, s.cut = {{}, {"stage", "model"}, {}};
              s.whole = {0, 6 * s.shape[1], s.shape[2]};
            }),
            "accepted");
  EXPECT_EQ(fault([](Segment& s) {
              s.shape = {int64_t{1} << 41, int64_t{1} << 20, 0}, s.cut = {{}, {"stage", "model"}, {}};
              s.whole = {s.shape[0], 6 * s.shape[1], 0};
            }),
            place + "it has more than 2^63 elements");
}

}  // namespace
}  // namespace smelt
