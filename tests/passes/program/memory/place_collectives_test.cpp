#include "passes/program/memory/memory_passes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/program/program.h"

namespace smelt {
namespace {

/// What each step writes, in order: "collective 1[0]", ...
std::string order_of(const Program& program) {
  std::string order;
  for (const Step& step : program.entries[0].steps) {
    const auto note = [&](std::string_view kind, const BufferRef& to) {
      order += fmt::format("{} {}[{}]\n", kind, to.buffer, to.offset.str());
    };
    if (const auto* copy = std::get_if<CopyStep>(&step.what)) note("copy", copy->to);
    if (const auto* fill = std::get_if<FillStep>(&step.what)) note("fill", fill->to);
    if (const auto* sum = std::get_if<CollectiveStep>(&step.what)) note(name(sum->kind), sum->to);
  }
  return order;
}

/// Two buckets of parameters (buffer 1), read one after the other; two of gradients (buffer 3), made in the
/// other order, the second with padding; their sums (buffer 4).
constexpr const char* kBuckets = R"(mesh {data = 2}
state "p" {role = parameter, whole = [2,8]} : f32[2,4] on [-, data]
buffer 0 "p" {role = parameter, state = 0} : f32[8]
buffer 1 "gathered" {role = temporary} : f32[16]
buffer 2 "y" {role = temporary} : f32[16]
buffer 3 "gradient" {role = temporary} : f32[16]
buffer 4 "sum" {role = temporary} : f32[8]
buffer 5 "out" {role = output} : f32[8]
entry @g {
  collective all_gather f32 #1 = #0 of 4 over data x 2 {reads = [0], writes = [1]}
  collective all_gather f32 #1[8] = #0[4] of 4 over data x 2 {reads = [0], writes = [1]}
  copy f32[8] #2(1) = #1(1) {reads = [1], writes = [2]}
  copy f32[8] #2[8](1) = #1[8](1) {reads = [1], writes = [2]}
  copy f32[6] #3[8](1) = #2[8](1) {reads = [2], writes = [3]}
  copy f32[8] #3(1) = #2(1) {reads = [2], writes = [3]}
  fill #3[14] = 0.0 of 2 {writes = [3]}
  collective reduce_scatter add f32 #4 = #3 of 4 over data x 2 {reads = [3], writes = [4]}
  collective reduce_scatter add f32 #4[4] = #3[8] of 4 over data x 2 {reads = [3], writes = [4]}
  copy f32[8] #5(1) = #4(1) {reads = [4], writes = [5]}
}
)";

TEST(PlaceCollectives, GathersLateAndSumsEarly) {
  Program program = parse_program(kBuckets);
  EXPECT_TRUE(place_collectives(program));
  EXPECT_EQ(order_of(program),
            "all_gather 1[0]\n"
            "copy 2[0]\n"
            "all_gather 1[8]\n"
            "copy 2[8]\n"
            "copy 3[8]\n"
            "fill 3[14]\n"
            "reduce_scatter 4[4]\n"
            "copy 3[0]\n"
            "reduce_scatter 4[0]\n"
            "copy 5[0]\n");
  EXPECT_FALSE(place_collectives(program)) << "they are in their places";
}

TEST(PlaceCollectives, LeavesOutWhatNobodyReads) {
  std::string text = kBuckets;
  const std::string reader = "  copy f32[8] #2[8](1) = #1[8](1) {reads = [1], writes = [2]}\n";
  text.replace(text.find(reader), reader.size(), "  fill #2[8] = 1.0 of 8 {writes = [2]}\n");
  Program program = parse_program(text);
  place_collectives(program);
  EXPECT_EQ(order_of(program).find("all_gather 1[8]"), std::string::npos) << order_of(program);
  EXPECT_NE(order_of(program).find("all_gather 1[0]"), std::string::npos);
}

/// An update writes to what is gathered, behind all who could read it.
TEST(PlaceCollectives, LeavesOutWhatNobodyReadsBeforeAnUpdate) {
  std::string text = kBuckets;
  const std::string reader = "  copy f32[8] #2[8](1) = #1[8](1) {reads = [1], writes = [2]}\n";
  text.replace(text.find(reader), reader.size(), "  fill #2[8] = 1.0 of 8 {writes = [2]}\n");
  text.replace(text.rfind("}"), 1, "  copy f32[8] #0(1) = #4(1) {reads = [4], writes = [0]}\n}");
  Program program = parse_program(text);
  place_collectives(program);
  EXPECT_EQ(order_of(program).find("all_gather 1[8]"), std::string::npos) << order_of(program);
  EXPECT_NE(order_of(program).find("all_gather 1[0]"), std::string::npos);
}

TEST(PlaceCollectives, LeavesStatesWhereTheyAreWritten) {
  std::string text = kBuckets;
  const std::string gradient = R"(buffer 3 "gradient" {role = temporary})";
  text.replace(text.find(gradient), gradient.size(), R"(buffer 3 "gradient" {role = output})");
  Program program = parse_program(text);
  place_collectives(program);
  EXPECT_TRUE(
      order_of(program).ends_with("fill 3[14]\nreduce_scatter 4[0]\nreduce_scatter 4[4]\ncopy 5[0]\n"))
      << order_of(program);
}

}  // namespace
}  // namespace smelt
