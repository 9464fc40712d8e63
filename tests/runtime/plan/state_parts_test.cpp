#include "runtime/plan/state_parts.h"

#include <gtest/gtest.h>

#include "runtime/base/error.h"

namespace smelt {
namespace {

State cut_state(std::vector<int64_t> whole, std::vector<std::vector<std::string>> cut, const Mesh& mesh) {
  State state;
  state.name = "s";
  state.cut = std::move(cut);
  for (const int64_t extent : whole) state.whole.emplace_back(extent);
  state.shape = state.whole;
  for (size_t i = 0; i < state.cut.size(); ++i)
    for (const std::string& axis : state.cut[i])
      state.shape[i] = *state.shape[i].divide(mesh.axes[*mesh.find(axis)].size);
  return state;
}

Segment segment(const char* name, int64_t offset, std::vector<int64_t> shape) {
  Segment segment;
  segment.name = name, segment.offset = offset, segment.shape = std::move(shape);
  return segment;
}

/// "whole>local x elements" of every run.
std::string text_of(const std::vector<StateRun>& runs) {
  std::string text;
  for (const StateRun& run : runs)
    text += fmt::format("{}{}>{}x{}", text.empty() ? "" : " ", run.whole, run.local, run.elements);
  return text;
}

TEST(StateParts, AreColumnsOfEveryBucket) {
  const Mesh mesh = parse_mesh("data=3");
  const State state = cut_state({2, 12}, {{}, {"data"}}, mesh);
  EXPECT_EQ(text_of(state_runs(state, mesh, 0)), "0>0x4 12>4x4");
  EXPECT_EQ(text_of(state_runs(state, mesh, 2)), "8>0x4 20>4x4");
}

TEST(StateParts, AreOneRunWhereTheFirstDimIsCut) {
  const Mesh mesh = parse_mesh("data=2,model=2");
  EXPECT_EQ(text_of(state_runs(cut_state({4, 3}, {{"data", "model"}, {}}, mesh), mesh, 3)), "9>0x3");
  EXPECT_EQ(text_of(state_runs(cut_state({8}, {{"model"}}, mesh), mesh, 2)), "0>0x4");
  EXPECT_EQ(text_of(state_runs(cut_state({5}, {}, mesh), mesh, 2)), "0>0x5");
}

TEST(StateParts, OfTwoDimsAreRunsOfTheInnerOne) {
  const Mesh mesh = parse_mesh("data=2,model=2");
  const State state = cut_state({4, 6}, {{"data"}, {"model"}}, mesh);
  EXPECT_EQ(text_of(state_runs(state, mesh, 3)), "15>0x3 21>3x3");
}

/// All ranks together hold each element of every tensor once, wherever tensors begin and end.
TEST(StateParts, OfAllRanksAreTheTensors) {
  for (const char* text : {"data=1", "data=2", "data=3", "data=8"}) {
    const Mesh mesh = parse_mesh(text);
    State state = cut_state({3, 48}, {{}, {"data"}}, mesh);
    state.segments = {segment("a", 0, {7}), segment("b", 16, {5, 11}), segment("c", 80, {60})};
    std::vector<std::vector<int>> held = {std::vector<int>(7), std::vector<int>(55), std::vector<int>(60)};
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
      for (const TensorRun& run : tensor_runs(state, mesh, rank)) {
        EXPECT_LE(run.local + run.elements, *element_count(state.shape).constant());
        auto& elements = held[static_cast<size_t>(run.segment - state.segments.data())];
        for (int64_t i = 0; i < run.elements; ++i) ++elements.at(static_cast<size_t>(run.at + i));
      }
    for (const auto& elements : held)
      EXPECT_EQ(std::ranges::count(elements, 1), static_cast<int64_t>(elements.size())) << text;
  }
}

/// Columns of one tensor over `model`, in a flat state that `data` cuts.
TEST(StateParts, OfTensorsThatAreCutAreTheTensors) {
  const Mesh mesh = parse_mesh("data=2,model=3");
  State state = cut_state({2, 12}, {{}, {"data"}}, mesh);
  Segment columns = segment("b", 5, {4, 3});
  columns.whole = {4, 9}, columns.cut = {{}, {"model"}};
  state.segments = {segment("a", 0, {5}), columns};
  std::vector<int> first(5), second(36);
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
    for (const TensorRun& run : whole_tensor_runs(state, mesh, rank))
      for (int64_t i = 0; i < run.elements; ++i)
        ++(run.segment->name == "a" ? first : second).at(static_cast<size_t>(run.at + i));
  EXPECT_EQ(std::ranges::count(first, 3), 5) << "every rank along model has all of it";
  EXPECT_EQ(std::ranges::count(second, 1), 36);
  state.cut.clear(), state.shape = state.whole;
  EXPECT_FALSE(is_cut(state));
  EXPECT_TRUE(is_in_parts(state));
  EXPECT_EQ(whole_tensor_runs(state, mesh, 1).at(1).at, 3);
  EXPECT_TRUE(is_first_holder(state, mesh, 2));
  EXPECT_FALSE(is_first_holder(state, mesh, 3));
}

TEST(StateParts, AreWrittenByTheFirstRankThatHoldsThem) {
  const Mesh mesh = parse_mesh("data=2,model=2");
  const State cut = cut_state({8}, {{"data"}}, mesh), whole = cut_state({8}, {}, mesh);
  std::string writers;
  for (int64_t rank = 0; rank < 4; ++rank)
    writers += fmt::format("{}{} ", is_first_holder(cut, mesh, rank), is_first_holder(whole, mesh, rank));
  EXPECT_EQ(writers, "truetrue falsefalse truefalse falsefalse ");
}

TEST(StateParts, ThatDoNotFitAreNamed) {
  const Mesh mesh = parse_mesh("data=2");
  State state = cut_state({8}, {{"data"}}, mesh);
  EXPECT_EQ(fault_of_parts(state, mesh), "");
  state.shape = {Dim(3)};
  EXPECT_EQ(fault_of_parts(state, mesh), "is cut into 2 parts of 3: expected them to make 8");
  EXPECT_EQ(fault_of_parts(state, parse_mesh("model=2")),
            "is cut over the axis 'data', which the mesh has not");
  EXPECT_THROW(state_runs(cut_state({8}, {{"data"}}, mesh), parse_mesh("model=2"), 1), Error);
}

}  // namespace
}  // namespace smelt
