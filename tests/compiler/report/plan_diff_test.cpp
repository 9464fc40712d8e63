// Two plans, one of them without a pass: the changed steps are those that the pass is about, and no others.
#include "compiler/report/plan_diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/compiler/report/reported_models.h"

namespace smelt {
namespace {

/// Two projections of one input, which merge_gemms makes one, and a kernel that has nothing to do with them.
constexpr std::string_view kProjections = R"(
symbols N <= 8
graph @logits(%x: f32[N,16], %y: f32[N,5]) {
  %wq = parameter "q" {init = normal(0.1)} : f32[12,16]
  %wk = parameter "k" {init = normal(0.1)} : f32[12,16]
  %q = matmul %x, %wq "query" {spec = "bi,oi->bo"}
  %k = matmul %x, %wk "key" {spec = "bi,oi->bo"}
  %s = mul %q, %k "score"
  %e = exp %y "other"
  return s = %s, e = %e
})";

const Step& step_of(const ReportedPlan& plan, int number) {
  return plan.program.entries[0].steps[static_cast<size_t>(number)];
}

bool reduces(const ReportedPlan& plan, int number) {
  const auto* launch = std::get_if<KernelStep>(&step_of(plan, number).what);
  return launch &&
         std::ranges::any_of(plan.program.kernels[static_cast<size_t>(launch->kernel)].instructions,
                             [](const Instruction& i) { return i.kind == Instruction::Kind::reduce; });
}

bool is_from(const Step& step, const std::set<std::string>& sources) {
  return std::ranges::any_of(step.sources,
                             [&](const std::string& source) { return sources.contains(source); });
}

TEST(PlanDiff, APlanIsEqualToItself) {
  const ReportedPlan plan = testing::of_text(kProjections);
  const PlanDiff diff = diff_plans(plan.program, plan.program);
  EXPECT_TRUE(diff.is_empty());
  ASSERT_EQ(diff.entries.size(), 1u);
  EXPECT_EQ(diff.entries[0].equal.size(), plan.program.entries[0].steps.size());
  EXPECT_EQ(diff_text(plan, plan), "the plans have the same steps\n");
}

TEST(PlanDiff, OnePassLessNamesExactlyTheStepsItIsAbout) {
  const ReportedPlan before = testing::of_text(kProjections),
                     after = testing::of_text(kProjections, {"merge_gemms"});
  const PlanDiff diff = diff_plans(before.program, after.program);
  ASSERT_EQ(diff.entries.size(), 1u);
  const std::set<std::string> merged = {"query", "key", "score"};
  std::set<int> gone, made;
  for (const StepChange& change : diff.entries[0].changes) {
    gone.insert(change.before.begin(), change.before.end());
    made.insert(change.after.begin(), change.after.end());
  }
  const auto expect_only = [&](const ReportedPlan& plan, const std::set<int>& changed) {
    for (const int number : changed) EXPECT_TRUE(is_from(step_of(plan, number), merged)) << number;
    for (int i = 0; i < static_cast<int>(plan.program.entries[0].steps.size()); ++i)
      EXPECT_TRUE(!std::holds_alternative<GemmStep>(step_of(plan, i).what) || changed.contains(i)) << i;
  };
  expect_only(before, gone), expect_only(after, made);
  EXPECT_EQ(made.size(), gone.size() + 1);        // two matmuls for one
  EXPECT_EQ(diff.entries[0].changes.size(), 2u);  // the matmuls, and what reads them with other strides
}

TEST(PlanDiff, TheTextNamesChangedStepsAlone) {
  const std::string text =
      diff_text(testing::of_text(kProjections), testing::of_text(kProjections, {"merge_gemms"}));
  EXPECT_NE(text.find("+ #"), std::string::npos) << text;
  EXPECT_NE(text.find("query"), std::string::npos) << text;
  EXPECT_EQ(text.find("other"), std::string::npos) << text;
}

/// rewrite_reductions is about kernels that reduce, whose sources stay.
TEST(PlanDiff, OfAModelItIsWhatOnlyOnePlanHas) {
  const ReportedPlan before = testing::gpt2({"train_step"});
  const ReportedPlan after =
      testing::gpt2({"train_step"}, [](CompileOptions& o) { o.passes.disabled = {"rewrite_reductions"}; });
  const EntryDiff diff = diff_plans(before.program, after.program).entries.at(0);
  size_t gone = 0, made = 0;
  for (const StepChange& change : diff.changes) {
    gone += change.before.size(), made += change.after.size();
    for (const int number : change.before) EXPECT_TRUE(reduces(before, number)) << number;
  }
  EXPECT_GT(gone, 0u);
  EXPECT_EQ(diff.equal.size() + gone, before.program.entries[0].steps.size());
  EXPECT_EQ(diff.equal.size() + made, after.program.entries[0].steps.size());
  for (const auto& [a, b] : diff.equal) {
    EXPECT_EQ(step_of(before, a).phase, step_of(after, b).phase);
    EXPECT_EQ(
        std::multiset<std::string>(step_of(before, a).sources.begin(), step_of(before, a).sources.end()),
        std::multiset<std::string>(step_of(after, b).sources.begin(), step_of(after, b).sources.end()));
  }
}

TEST(PlanDiff, EntriesOfOnePlanAloneAreNamed) {
  const PlanDiff diff = diff_plans(testing::gpt2({"evaluate"}).program, testing::gpt2({"logits"}).program);
  EXPECT_EQ(diff.only_before, std::vector<std::string>{"evaluate"});
  EXPECT_EQ(diff.only_after, std::vector<std::string>{"logits"});
  EXPECT_FALSE(diff.is_empty());
}

TEST(PlanDiff, StepsInAnotherPlaceAreCounted) {
  ReportedPlan before = testing::of_text(kProjections), after = testing::of_text(kProjections);
  std::vector<Step>& steps = after.program.entries[0].steps;
  ASSERT_GE(steps.size(), 3u);
  std::rotate(steps.begin(), steps.begin() + 1, steps.end());
  const EntryDiff diff = diff_plans(before.program, after.program).entries.at(0);
  EXPECT_TRUE(diff.changes.empty());
  EXPECT_EQ(diff.moved, 1);
}

}  // namespace
}  // namespace smelt
