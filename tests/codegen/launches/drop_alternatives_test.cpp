// Alternatives whose kernels spill go where another one remains.
#include "codegen/launches/launch_passes.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

constexpr std::string_view kProgram = R"(
buffer 0 "in" {role = input} : f32[1000]
buffer 1 "x" {bytes = 4000, live = [0, 4]} : f32[1000]
buffer 2 "u" {offset = 4096, bytes = 4000, live = [2, 3]} : f32[1000]
buffer 3 "y" {offset = 8192, bytes = 4000, live = [1, 5]} : f32[1000]
buffer 4 "out" {role = output} : f32[1000]
kernel @k0(%x: f32, out %y: f32) column c0 = 1000 { column { %0 = constant 0.0 : f32 store %y[c0] = %0 : f32 } }
kernel @k1(%x: f32, out %y: f32) column c0 = 1000 { column { %0 = constant 1.0 : f32 store %y[c0] = %0 : f32 } }
kernel @k2(%x: f32, out %y: f32) column c0 = 1000 { column { %0 = constant 2.0 : f32 store %y[c0] = %0 : f32 } }
entry @e {
  choice ["zero", "one", "two"]
  launch @k0(#0, #1) {reads = [0], writes = [1]}
  launch @k0(#1, #3) {reads = [1], writes = [3], choice = [0, 0]}
  launch @k1(#1, #2) {reads = [1], writes = [2], choice = [0, 1]}
  launch @k2(#2, #3) {reads = [2], writes = [3], choice = [0, 1]}
  launch @k2(#1, #3) {reads = [1], writes = [3], choice = [0, 2]}
  launch @k0(#3, #4) {reads = [3], writes = [4]}
}
)";

TEST(DropAlternatives, ThoseWithAHeavyKernelGo) {
  Program program = parse_program(kProgram);
  EXPECT_TRUE(drop_alternatives(program, {false, true, false}));
  const PlanEntry& entry = program.entries[0];
  EXPECT_EQ(entry.choices[0].alternatives, (std::vector<std::string>{"zero", "two"}));
  ASSERT_EQ(entry.steps.size(), 4u);
  EXPECT_EQ(entry.steps[2].alternative, 1) << "numbers have no gap";
  ASSERT_EQ(program.kernels.size(), 2u) << "k1 is nobody's any more";
  EXPECT_EQ(program.kernels[static_cast<size_t>(std::get<KernelStep>(entry.steps[2].what).kernel)].name,
            "k2");
}

TEST(DropAlternatives, BuffersLiveFromAndToTheSameSteps) {
  Program program = parse_program(kProgram);
  drop_alternatives(program, {false, true, false});
  const auto expect_life = [&](size_t buffer, int first, int last) {
    EXPECT_EQ(program.buffers[buffer].first_step, first) << buffer;
    EXPECT_EQ(program.buffers[buffer].last_step, last) << buffer;
  };
  expect_life(1, 0, 2);
  expect_life(3, 1, 3);
  program = parse_program(kProgram);
  drop_alternatives(program, {false, false, true});
  expect_life(1, 0, 1);
  expect_life(3, 1, 2);
}

TEST(DropAlternatives, WhereAllAreHeavyOrNoneIsAllStay) {
  for (const bool heavy : {false, true}) {
    Program program = parse_program(kProgram);
    EXPECT_FALSE(drop_alternatives(program, {heavy, heavy, heavy}));
    EXPECT_EQ(print(program), print(parse_program(kProgram)));
  }
}

/// Where sizes decide on the last one, there is no other for these.
TEST(DropAlternatives, OneThatSizesDecideOnStays) {
  std::string text(kProgram);
  const std::string_view names = R"("two"])";
  text.insert(text.find(names) + names.size(), " {last_where = 4 < 5}");
  Program program = parse_program(text);
  EXPECT_TRUE(drop_alternatives(program, {false, false, true}));
  EXPECT_EQ(program.entries[0].choices[0].alternatives, (std::vector<std::string>{"zero", "two"}));
}

}  // namespace
}  // namespace smelt
