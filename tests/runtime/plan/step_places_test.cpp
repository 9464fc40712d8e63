// Where each kind of step reads and writes.
#include "runtime/plan/step_places.h"

#include <gtest/gtest.h>

#include "runtime/plan/plan_fields.h"
#include "tests/runtime/example_plan.h"

namespace smelt {
namespace {

/// "a reads 4 [B*T x 4, 4 x 1]": the buffer, then extents and strides.
std::string text(const StepPlace& place) {
  std::string walks;
  for (const Walk& walk : place.walks)
    walks += fmt::format("{}{} x {}", walks.empty() ? "" : ", ", walk.extent.str(), walk.stride.str());
  const char* use = place.reads() && place.writes() ? "reads and writes"
                    : place.writes()                ? "writes"
                    : place.reads()                 ? "reads"
                                                    : "points to";
  return fmt::format("{} {} {} [{}]", place.name, use, place.ref->buffer, walks);
}

std::vector<std::string> texts(const Step& step) {
  std::vector<std::string> all;
  for (const StepPlace& place : places(step)) all.push_back(text(place));
  return all;
}

using Texts = std::vector<std::string>;

TEST(StepPlaces, OfEveryKind) {
  const Plan plan = example::plan();
  const std::vector<Step>& steps = plan.entries[0].steps;
  EXPECT_EQ(texts(steps[0]), (Texts{"to writes 9 [1 x 1]"}));
  EXPECT_EQ(texts(steps[1]), (Texts{"arguments points to 0 []", "arguments points to 4 []"}));
  EXPECT_EQ(texts(steps[2]), (Texts{"from reads 4 [B*T x 4, 4 x 1]", "to writes 11 [B*T x 1, 4 x B*T]"}));
  EXPECT_EQ(texts(steps[4]), (Texts{"indices reads 8 [B*T x 1]", "permutation writes 6 [B*T x 1]",
                                    "begins writes 7 [10 x 1]"}));
  EXPECT_EQ(texts(steps[5]),
            (Texts{"a reads 4 [B*T x 4, 4 x 1]", "b reads 2 [4 x 1, 3 x 4]", "c writes 1 [B*T x 3, 3 x 1]"}));
}

TEST(StepPlaces, OfAGemmThatAddsWithABiasAndABatch) {
  Step step = example::plan().entries[0].steps[5];
  auto& gemm = std::get<GemmStep>(step.what);
  gemm.beta = 1, gemm.bias = BufferRef{3, 0}, gemm.batch = {{2, 10, 20, 30}};
  EXPECT_EQ(texts(step), (Texts{"a reads 4 [B*T x 4, 4 x 1, 2 x 10]", "b reads 2 [4 x 1, 3 x 4, 2 x 20]",
                                "bias reads 3 [3 x 1]", "c reads and writes 1 [B*T x 3, 3 x 1, 2 x 30]"}));
}

TEST(StepPlaces, OfASortWithAWorkspace) {
  Step step = example::plan().entries[0].steps[4];
  std::get<SortIndexStep>(step.what).workspace = {{5, 0}, 40};
  EXPECT_EQ(texts(step).back(), "workspace writes 5 [40 x 1]");
  EXPECT_FALSE(places(step).back().is_result());
}

TEST(StepPlaces, OfCollectives) {
  Step step;
  CollectiveStep what{.axis = "data", .from = {4, 0}, .to = {5, 0}, .elements = 7, .ranks = 3};
  const auto of = [&](CollectiveKind kind) {
    what.kind = kind, step.what = what;
    return texts(step);
  };
  EXPECT_EQ(of(CollectiveKind::all_reduce), (Texts{"from reads 4 [7 x 1]", "to writes 5 [7 x 1]"}));
  EXPECT_EQ(of(CollectiveKind::reduce_scatter),
            (Texts{"from reads 4 [3 x 7, 7 x 1]", "to writes 5 [7 x 1]"}));
  EXPECT_EQ(of(CollectiveKind::all_gather), (Texts{"from reads 4 [7 x 1]", "to writes 5 [3 x 7, 7 x 1]"}));
  EXPECT_EQ(of(CollectiveKind::all_to_all),
            (Texts{"from reads 4 [3 x 7, 7 x 1]", "to writes 5 [3 x 7, 7 x 1]"}));
}

TEST(StepPlaces, OfCollectivesOfRows) {
  Step step;
  CollectiveStep what{.axis = "data", .from = {4, 0}, .to = {5, 0}, .elements = 7, .ranks = 3};
  what.rows = Dim::symbol("B"), what.from_stride = 30, what.to_stride = 8;
  const auto of = [&](CollectiveKind kind) {
    what.kind = kind, step.what = what;
    return texts(step);
  };
  EXPECT_EQ(of(CollectiveKind::all_reduce),
            (Texts{"from reads 4 [B x 30, 7 x 1]", "to writes 5 [B x 8, 7 x 1]"}));
  EXPECT_EQ(of(CollectiveKind::reduce_scatter),
            (Texts{"from reads 4 [B x 30, 3 x 7, 7 x 1]", "to writes 5 [B x 8, 7 x 1]"}));
  EXPECT_EQ(of(CollectiveKind::all_gather),
            (Texts{"from reads 4 [B x 30, 7 x 1]", "to writes 5 [B x 8, 3 x 7, 7 x 1]"}));
}

/// A damaged plan may ask before anybody has counted.
TEST(StepPlaces, OfACopyWithTooFewStrides) {
  Step step = example::plan().entries[0].steps[2];
  std::get<CopyStep>(step.what).to_strides.pop_back();
  EXPECT_EQ(texts(step), (Texts{"from reads 4 [B*T x 4]", "to writes 11 [B*T x 1]"}));
}

/// A row with fewer elements than are asked for ends with -1.
TEST(StepPlaces, OfTheLargestHaveTheirRange) {
  Step step;
  step.what = TopKStep{.x = {0, 0},
                       .values = {1, 0},
                       .indices = {2, 0},
                       .rows = 3,
                       .count = Dim::symbol("T"),
                       .row_stride = Dim::symbol("T"),
                       .k = 4};
  EXPECT_EQ(texts(step), (Texts{"x reads 0 [3 x T, T x 1]", "values writes 1 [3 x 4, 4 x 1]",
                                "indices writes 2 [3 x 4, 4 x 1]"}));
  const std::vector<StepPlace> all = places(step);
  EXPECT_EQ(all[2].dtype, DType::i32);
  EXPECT_FALSE(all[1].numbers);
  for (const auto& [count, least] : {std::pair(0, -1), {3, -1}, {4, 0}, {INT32_MAX - 1, 0}}) {
    EXPECT_EQ(all[2].numbers->least.evaluate({{"T", count}}), least);
    EXPECT_EQ(all[2].numbers->most.evaluate({{"T", count}}), count - 1);
  }
}

TEST(StepKinds, HaveNamesOfTheirOwn) {
  std::vector<std::string_view> names;
  any_step_kind([&](const auto& kind) {
    names.push_back(StepKind<std::remove_cvref_t<decltype(kind)>>::name);
    return false;
  });
  EXPECT_EQ(names, (std::vector<std::string_view>{"kernel", "gemm", "sort_index", "scan", "top_k", "sample",
                                                  "dequantize", "copy", "fill", "collective"}));
}

}  // namespace
}  // namespace smelt
