// Kernels, and why neighbours are not one: each reason with what it is about.
#include "passes/graph/fusion/fusion_report.h"

#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/fusion/fuse.h"

namespace smelt {
namespace {

using Border = FusionReport::Border;

FusionReport report_of(std::string_view text, FuseOptions options = {}) {
  const auto module = parse_module(text);
  FusionReport report;
  options.report = &report;
  fuse(*module->graphs[0], options);
  return report;
}

/// The detail of the first border with this reason.
std::string detail_of(const FusionReport& report, FuseReason reason) {
  const auto found = llvm::find_if(report.borders, [&](const Border& b) { return b.reason == reason; });
  return found == report.borders.end() ? "there is no such border" : found->detail;
}

TEST(FusionReport, ListsWhatIsInAKernelAndItsBytes) {
  const FusionReport report = report_of(R"(
symbols N <= 10
graph @g(%x: f32[N,4], %y: f32[N,4]) {
  %0 = mul %x, %y "a"
  %1 = exp %0 "b"
  %2 = reduce add %1 "b" {axes = [1]}
  return out = %1, sum = %2
})");
  ASSERT_EQ(report.kernels.size(), 1u);
  const FusionReport::Kernel& kernel = report.kernels[0];
  EXPECT_EQ(kernel.number, 1);
  EXPECT_EQ(kernel.source, "a + b");
  EXPECT_EQ(kernel.operations, (std::vector<std::string>{"mul", "exp", "reduce add"}));
  EXPECT_EQ(kernel.bytes_read, 2 * 10 * 4 * 4);
  EXPECT_EQ(kernel.bytes_written, 10 * 4 * 4 + 10 * 4);
  EXPECT_TRUE(report.borders.empty());
}

/// The bias between two matmuls, whose result the second reads transposed.
TEST(FusionReport, AKernelBetweenMatmulsSaysSo) {
  const FusionReport report = report_of(R"(
graph @g(%x: f32[8,4], %w: f32[4,4], %b: f32[4]) {
  %0 = matmul %x, %w "fc" {spec = "bi,io->bo"}
  %1 = broadcast %b "fc" {axes = [1]} : f32[8,4]
  %2 = add %0, %1 "fc"
  %3 = transpose %2 "fc" {permutation = [1, 0]}
  %4 = matmul %3, %x "next" {spec = "ib,bo->io"}
  return out = %4
})");
  ASSERT_EQ(report.borders.size(), 2u);
  for (const Border& border : report.borders) {
    EXPECT_EQ(border.reason, FuseReason::own_step);
    EXPECT_EQ(border.bytes, 8 * 4 * 4);
  }
  EXPECT_EQ(report.borders[0].consumer, 1);
  EXPECT_EQ(report.borders[0].other, "matmul \"fc\"");
  EXPECT_EQ(report.borders[1].producer, 1);
  EXPECT_EQ(report.borders[1].other, "matmul \"next\"");
}

TEST(FusionReport, AViewBetweenTwoKernelsIsNamed) {
  const FusionReport report = report_of(R"(
graph @g(%x: f32[8,4]) {
  %0 = exp %x "a"
  %1 = reshape %0 "v" : f32[32]
  %2 = log %1 "b"
  return out = %2
})");
  ASSERT_EQ(report.kernels.size(), 2u);
  ASSERT_EQ(report.borders.size(), 1u);
  EXPECT_EQ(report.borders[0].reason, FuseReason::view);
  EXPECT_EQ(report.borders[0].detail, "through reshape");
  EXPECT_EQ(report.borders[0].producer, 1);
  EXPECT_EQ(report.borders[0].consumer, 2);
  EXPECT_EQ(report.borders[0].bytes, 8 * 4 * 4);
}

TEST(FusionReport, ACycleNamesWhereItLeads) {
  const FusionReport report = report_of(R"(
graph @g(%x: f32[8,8], %w: f32[8,8]) {
  %0 = exp %x "a"
  %1 = matmul %0, %w "fc" {spec = "bi,io->bo"}
  %2 = add %0, %1 "b"
  return out = %2
})");
  EXPECT_EQ(detail_of(report, FuseReason::cycle), "a path leads through matmul \"fc\" and back");
}

TEST(FusionReport, PhasesAreNamed) {
  const FusionReport report = report_of(R"(
graph @g(%x: f32[8,8]) {
  %0 = exp %x "a"
  %1 = log %0 "b" {phase = backward}
  return out = %1
})");
  EXPECT_EQ(detail_of(report, FuseReason::phase), "forward and backward stay apart");
}

TEST(FusionReport, SizesAreNamed) {
  FuseOptions small;
  small.max_nodes = 2;
  const FusionReport report = report_of(R"(
graph @g(%x: f32[8,8]) {
  %0 = exp %x "a"
  %1 = log %0 "b"
  %2 = sin %1 "c"
  return out = %2
})",
                                        small);
  EXPECT_EQ(detail_of(report, FuseReason::size), "3 operations, at most 2");
}

/// Two readers of one value that follow it along different axes: neither reads the other.
TEST(FusionReport, SiblingsAreToldApartFromNeighbours) {
  const FusionReport report = report_of(R"(
graph @g(%x: f32[512,512]) {
  %0 = reduce max %x "rows" {axes = [1]}
  %1 = exp %0 "rows"
  %2 = reduce max %x "columns" {axes = [0]}
  %3 = exp %2 "columns"
  return rows = %1, columns = %3
})");
  const auto siblings = llvm::find_if(report.borders, [](const Border& b) { return b.siblings; });
  ASSERT_NE(siblings, report.borders.end());
  EXPECT_EQ(siblings->reason, FuseReason::loop_nest);
  EXPECT_FALSE(siblings->detail.empty());
  EXPECT_EQ(siblings->bytes, 512 * 512 * 4);  // which both read
  EXPECT_NE(report.kernels[0].source.find("rows"), std::string::npos) << report.kernels[0].source;
}

/// Both read all of x, one of them through a view: it is read twice.
TEST(FusionReport, SiblingsThroughAViewAreTold) {
  const FusionReport report = report_of(R"(
graph @g(%x: f32[8,4]) {
  %0 = exp %x "a"
  %1 = reshape %x "v" : f32[32]
  %2 = log %1 "b"
  return out = %0, other = %2
})");
  ASSERT_EQ(report.kernels.size(), 2u);
  ASSERT_EQ(report.borders.size(), 1u);
  EXPECT_TRUE(report.borders[0].siblings);
  EXPECT_EQ(report.borders[0].reason, FuseReason::view);
  EXPECT_EQ(report.borders[0].detail, "through reshape");
  EXPECT_EQ(report.borders[0].producer, 1);
  EXPECT_EQ(report.borders[0].consumer, 2);
  EXPECT_EQ(report.borders[0].bytes, 8 * 4 * 4);
}

/// Of equal views the same nodes would be one, and a part of a value is another value.
TEST(FusionReport, ReadersOfPartsAreNoSiblings) {
  const FusionReport report = report_of(R"(
graph @g(%x: f32[8,4]) {
  %0 = exp %x "a"
  %1 = slice %x "v" {axis = 0, begin = 0} : f32[4,4]
  %2 = log %1 "b"
  return out = %0, other = %2
})");
  EXPECT_EQ(report.kernels.size(), 2u);
  EXPECT_TRUE(report.borders.empty());
}

}  // namespace
}  // namespace smelt
