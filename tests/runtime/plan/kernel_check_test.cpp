// What kernels expect of the steps that launch them.
#include "runtime/plan/kernel_check.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/base/error.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/plan_validate.h"
#include "tests/runtime/example_plan.h"
#include "tests/runtime/plan/validation_fault.h"
#include "tests/support/plan_text.h"

namespace smelt {
namespace {

using testing::fault_of;

/// Of the example, with its steps changed in memory.
std::string fault_of_steps(const std::function<void(Plan&, std::vector<Step>&)>& change) {
  Plan plan = example::plan();
  change(plan, plan.entries[0].steps);
  return fault_of([&] { validate(plan); });
}

/// Of the example's file, with its manifest edited behind checksums that are right.
std::string fault_of_file(const std::function<void(Json&)>& edit) {
  Plan plan = example::plan();
  plan.binary.assign(300, std::byte{7});
  testing::PlanText text = testing::take_apart(serialize_plan(plan));
  edit(text.root["plan"]);
  const std::string file = testing::put_together(text);
  return fault_of([&] { parse_plan(std::as_bytes(std::span(file)), "edited.plan"); });
}

#define EXPECT_STEP_FAULT(text, ...) \
  EXPECT_PRED_FORMAT2(               \
      ::testing::IsSubstring, text,  \
      fault_of_steps([]([[maybe_unused]] Plan& p, [[maybe_unused]] std::vector<Step>& s) { __VA_ARGS__; }))
#define EXPECT_FILE_FAULT(text, ...) \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, text, fault_of_file([](Json& plan) { __VA_ARGS__; }))

KernelStep& launch(Step& step) { return std::get<KernelStep>(step.what); }

TEST(KernelCheck, TheExampleIsAsItShould) {
  EXPECT_EQ(fault_of_steps([](Plan&, std::vector<Step>&) {}), "accepted");
  EXPECT_EQ(fault_of_file([](Json&) {}), "accepted");
}

TEST(KernelCheck, ADescriptionThatWasEditedDoesNotFitItsMachineCode) {
  const char* changed = "kernels[0] ('add_one') is not as it was compiled";
  EXPECT_FILE_FAULT(changed, plan["kernels"][0]["range"] = "1000000*B*T");
  EXPECT_FILE_FAULT(changed, plan["kernels"][0]["range"] = "B");
  EXPECT_FILE_FAULT(changed, plan["kernels"][0]["dims"].clear());
  EXPECT_FILE_FAULT(changed, plan["kernels"][0]["parameters"].erase(1));
  EXPECT_FILE_FAULT(changed, plan["kernels"][0]["parameters"][0]["accesses"].clear());
  EXPECT_FILE_FAULT(changed, plan["kernels"][0]["splits"] = 7);
  EXPECT_FILE_FAULT(changed, plan["kernels"][0]["checksum"] = "");
  EXPECT_FILE_FAULT(changed, plan["kernels"][0].erase("checksum"));
  EXPECT_FILE_FAULT(changed, plan["symbols"][0]["upper"] = int64_t{1} << 40);
  EXPECT_FILE_FAULT(changed, plan["target"] = "cpu-other");
  EXPECT_FILE_FAULT(changed, plan["features"].push_back("avx2"));
}

TEST(KernelCheck, DescriptionsOfTwoKernelsCannotBeExchanged) {
  EXPECT_FILE_FAULT("kernels[0] ('partial_sum') is not as it was compiled",
                    std::swap(plan["kernels"][0]["name"], plan["kernels"][1]["name"]));
  EXPECT_FILE_FAULT("kernels[0] ('add_one')",
                    std::swap(plan["kernels"][0]["range"], plan["kernels"][1]["range"]));
  EXPECT_FILE_FAULT("kernels[0] ('add_one')",
                    std::swap(plan["kernels"][0]["checksum"], plan["kernels"][1]["checksum"]));
}

TEST(KernelCheck, AnotherKernelTakesOtherArguments) {
  EXPECT_STEP_FAULT("gives kernel 'count_up' 2 arguments and 0 random ids: expected 1 and 0",
                    launch(s[1]).kernel = 2);
  EXPECT_STEP_FAULT("argument 0 of kernel 'add_one' is buffer 'ids' (i32): expected f32",
                    launch(s[1]).arguments[0].buffer = example::ids, s[1].reads = {example::ids});
  EXPECT_STEP_FAULT("buffer 'z' (f32): the kernel writes it: expected it among those that the step writes",
                    s[1].reads.push_back(example::z), s[1].writes.clear());
  EXPECT_STEP_FAULT("buffer 'x' (f32): the kernel reads it: expected it among those that the step reads",
                    s[1].reads.clear(), p.buffers[example::x].role = Role::output,
                    s[1].writes.push_back(example::x), p.entries[0].outputs.push_back(p.entries[0].inputs[0]),
                    p.entries[0].inputs.erase(p.entries[0].inputs.begin()));
}

TEST(KernelCheck, AKernelStaysInsideItsBuffers) {
  EXPECT_STEP_FAULT(
      "kernel 'add_one' reaches elements 0 to 3 from element 0 of argument 1, buffer 'z' (f32, "
      "3 elements)",
      p.entries[0].outputs.erase(p.entries[0].outputs.begin() + 1),
      p.buffers[example::z].elements = Dim::parse("3*B*T"));
  EXPECT_STEP_FAULT("kernel 'add_one' reaches elements 0 to 3 from element 1 of argument 0, buffer 'x'",
                    launch(s[1]).arguments[0].offset = 1);
  EXPECT_STEP_FAULT(
      "kernel 'partial_sum' reaches elements 0 to 3 from element 0 of argument 0, buffer 'total'",
      launch(s[3]).arguments[0].buffer = example::total, s[3].reads = {example::total});
  EXPECT_STEP_FAULT("argument 1 begins at element -1", launch(s[1]).arguments[1].offset = -1);
  EXPECT_STEP_FAULT("overflows 64 bits", p.kernels[0].parameters[0].accesses[0].strides[1] = INT64_MAX);
  EXPECT_STEP_FAULT("kernel 'add_one' reaches elements -12 to 0 from element 0 of argument 0",
                    p.kernels[0].parameters[0].accesses[0].strides = {0, -4});
}

TEST(KernelCheck, CopiesAndMatmulsWriteEveryElementOnce) {
  EXPECT_STEP_FAULT("elements of to into buffer 'zt'",
                    std::get<CopyStep>(s[2].what) = CopyStep{
                        {example::z, 0}, {example::zt, 0}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, DType::f32});
}

TEST(KernelCheck, SpansOfAccesses) {
  const SymbolValues values = {{"T", 5}};
  const Dim t = Dim::symbol("T");
  KernelParameter parameter{.accesses = {{2, {t, 1}}, {0, {0, -1}}}};
  const ElementSpan span = span_of(parameter, {3, 4}, values);
  EXPECT_EQ(span.first, -3);
  EXPECT_EQ(span.end, 2 + 2 * 5 + 3 + 1);
  EXPECT_TRUE(span_of(KernelParameter{}, {3, 4}, values).is_empty());
  EXPECT_TRUE(span_of(parameter, {0, 0}, values).is_empty()) << "no index, no element";
  parameter.table_elements = t * 100;
  EXPECT_EQ(span_of(parameter, {3, 4}, values).end, 500);
}

}  // namespace
}  // namespace smelt
