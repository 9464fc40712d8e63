// What template kernels may be launched with, and how a plan that asks for more is refused.
#include "runtime/plan/step_values.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/plan/plan_file.h"
#include "tests/runtime/example_plan.h"
#include "tests/runtime/plan/validation_fault.h"

namespace smelt {
namespace {

using Argument = TemplateLaunch::Argument;
using Kind = Argument::Kind;

std::string names(const auto& values) {
  std::string text;
  for (const auto& [name, value] : values) text += (text.empty() ? "" : " ") + name;
  return text;
}

std::string integer(const StepValues& values, std::string_view name) {
  for (const auto& [found, dim] : values.integers)
    if (found == name) return dim.str();
  return "none";
}

TEST(StepValues, AreTheFieldsByName) {
  const Plan plan = example::plan();
  const StepValues sort = values_of(plan.entries[0].steps[4]);
  EXPECT_EQ(names(sort.addresses), "indices permutation begins");
  EXPECT_EQ(names(sort.integers), "count rows");
  EXPECT_EQ(sort.addresses[1].second.buffer, example::sorted);
  EXPECT_EQ(integer(sort, "count"), "B*T");
  Step with_workspace = plan.entries[0].steps[4];
  std::get<SortIndexStep>(with_workspace.what).workspace = {{example::z, 0}, 40};
  EXPECT_EQ(names(values_of(with_workspace).addresses), "indices permutation begins workspace_base");
  EXPECT_EQ(integer(values_of(with_workspace), "workspace_elements"), "40");
  const StepValues copy = values_of(plan.entries[0].steps[2]);
  EXPECT_EQ(names(copy.integers), "extents0 extents1 from_strides0 from_strides1 to_strides0 to_strides1");
  Step kernel = plan.entries[0].steps[1];
  std::get<KernelStep>(kernel.what).random_ids = {7, 4294967295u};
  const StepValues launch = values_of(kernel);
  EXPECT_EQ(names(launch.addresses), "arguments0 arguments1");
  EXPECT_EQ(integer(launch, "random_ids1"), "4294967295");
}

TEST(StepValues, OfAGemm) {
  Step step = example::plan().entries[0].steps[5];
  auto& gemm = std::get<GemmStep>(step.what);
  gemm.alpha = 0.5, gemm.batch = {{2, 10, 20, 30}};
  const StepValues values = values_of(step);
  EXPECT_EQ(names(values.addresses), "a b c");
  EXPECT_EQ(names(values.reals), "alpha beta");
  EXPECT_EQ(values.reals[0].second, 0.5);
  EXPECT_EQ(integer(values, "m"), "B*T");
  EXPECT_EQ(integer(values, "b_column_stride"), "4");
  EXPECT_EQ(integer(values, "batch0_c_stride"), "30");
}

/// C^T = B^T A^T: whose rows lie together, as a template writes them.
TEST(StepValues, OfAGemmWhoseColumnsLieTogether) {
  Step step = example::plan().entries[0].steps[5];
  auto& gemm = std::get<GemmStep>(step.what);
  gemm.c.row_stride = 1, gemm.c.column_stride = 99, gemm.batch = {{2, 10, 20, 30}};
  EXPECT_TRUE(is_seen_transposed(gemm));
  const StepValues values = values_of(step);
  EXPECT_EQ(values.addresses[0].second.buffer, example::weights) << "a";
  EXPECT_EQ(values.addresses[1].second.buffer, example::z) << "b";
  EXPECT_EQ(integer(values, "m"), "3");
  EXPECT_EQ(integer(values, "n"), "B*T");
  EXPECT_EQ(integer(values, "a_row_stride"), "4") << "the weights' columns";
  EXPECT_EQ(integer(values, "b_row_stride"), "1");
  EXPECT_EQ(integer(values, "c_row_stride"), "99");
  EXPECT_EQ(integer(values, "batch0_a_stride"), "20");
}

/// The sort of the example by a template.
Plan plan_with_template() {
  Plan plan = example::plan();
  KernelCode sort{.name = "sort", .text = "", .dims = {}, .range = 1, .threads = 64};
  sort.launch = TemplateLaunch{.step = "sort_index",
                               .arguments = {{Kind::address, Dim::symbol("indices"), 4, DType::i32, true},
                                             {Kind::address, Dim::symbol("permutation"), 4, {}, false, true},
                                             {Kind::address, Dim::symbol("begins"), 4, {}, false, true},
                                             {Kind::integer, Dim::symbol("count") * 2 + Dim::symbol("B")}},
                               .blocks = ceil_div(Dim::symbol("count"), 64),
                               .shared_bytes = Dim::symbol("rows") * 4,
                               .conditions = {{Dim::symbol("rows"), 3, 1 << 20}}};
  plan.kernels.push_back(std::move(sort));
  plan.entries[0].steps[4].kernels = {3};
  plan.binary.assign(300, std::byte{1});
  return plan;
}

std::string fault(const std::function<void(Plan&, TemplateLaunch&)>& damage) {
  Plan plan = plan_with_template();
  damage(plan, *plan.kernels[3].launch);
  return testing::validation_fault(plan);
}

#define EXPECT_REFUSED(text, ...)   \
  EXPECT_PRED_FORMAT2(              \
      ::testing::IsSubstring, text, \
      fault([]([[maybe_unused]] Plan& p, [[maybe_unused]] TemplateLaunch& l) { __VA_ARGS__; }))

TEST(Templates, OfAPlanAreKeptOnDisk) {
  const Plan plan = plan_with_template();
  const std::string file = serialize_plan(plan);
  const Plan again = parse_plan(std::as_bytes(std::span(file)), "test.plan");
  EXPECT_EQ(again.entries[0].steps[4].kernels, std::vector<int>{3});
  const TemplateLaunch& launch = again.kernels[3].launch.value();
  EXPECT_EQ(launch.arguments[0].kind, Kind::address);
  EXPECT_EQ(launch.arguments[0].alignment, 4);
  EXPECT_EQ(launch.arguments[3].value.str(), (Dim::symbol("count") * 2 + Dim::symbol("B")).str());
  EXPECT_EQ(launch.blocks, ceil_div(Dim::symbol("count"), 64));
  EXPECT_EQ(launch.conditions[0].divisor, 3);
  EXPECT_FALSE(again.kernels[0].launch);
  EXPECT_EQ(serialize_plan(again), file);
}

TEST(Templates, AskForFieldsThatTheStepHas) {
  EXPECT_EQ(fault([](Plan&, TemplateLaunch&) {}), "accepted");
  EXPECT_REFUSED("kernel 9 of its own: expected a template among 4", p.entries[0].steps[4].kernels = {9});
  EXPECT_REFUSED("kernel 0 of its own: expected a template", p.entries[0].steps[4].kernels = {0});
  EXPECT_REFUSED("kernel 'sort' takes the address 'keys', which is no field of the step",
                 l.arguments[0].value = Dim::symbol("keys"));
  EXPECT_REFUSED("takes the integer 'columns'", l.arguments[3].value = Dim::symbol("columns"));
  EXPECT_REFUSED("takes the integer 'columns'", l.blocks = Dim::symbol("columns"));
  EXPECT_REFUSED("takes the integer 'columns'", l.shared_bytes = Dim::symbol("columns"));
  EXPECT_REFUSED("takes the integer 'columns'", l.conditions[0].value = Dim::symbol("columns"));
  EXPECT_REFUSED("takes the real number 'alpha'", l.arguments[3] = {Kind::real, Dim::symbol("alpha")});
  EXPECT_REFUSED("step 5 (gemm y): kernel 'sort' of its own does sort_index steps: expected one for gemm",
                 p.entries[0].steps[5].kernels = {3});
  EXPECT_REFUSED("step 1 (kernel z): kernel 'sort' takes the address 'indices'",
                 p.kernels[3].parameters = p.kernels[0].parameters, p.kernels[3].axes = p.kernels[0].axes,
                 std::get<KernelStep>(p.entries[0].steps[1].what).kernel = 3);
}

TEST(Templates, DoAllOfTheirStep) {
  EXPECT_REFUSED("kernel 'sort' takes indices as f32: it is i32", l.arguments[0].dtype = DType::f32);
  EXPECT_REFUSED("none of its 1 kernels that take these sizes writes begins", l.arguments[2].written = false);
  EXPECT_REFUSED("kernel 'sort' reads permutation, which no kernel before it has written",
                 l.arguments[1].read = true);
  EXPECT_REFUSED("no kernel for it: compile it again for a GPU", p.target = "sm_90",
                 p.entries[0].steps[4].kernels.clear());
}

TEST(Templates, AreLaunchedAsAGpuCan) {
  EXPECT_REFUSED("kernel 'sort', a template: 0 threads a block", p.kernels[3].threads = 0);
  EXPECT_REFUSED("2000000 bytes of shared memory", p.kernels[3].shared_bytes = 2000000);
  EXPECT_REFUSED("the address '2*indices': expected a name", l.arguments[0].value *= 2);
  EXPECT_REFUSED("the real '3': expected a name", l.arguments[3] = {Kind::real, 3});
  EXPECT_REFUSED("an alignment of 0", l.arguments[0].alignment = 0);
  EXPECT_REFUSED("the divisor 0", l.conditions[0].divisor = 0);
}

}  // namespace
}  // namespace smelt
