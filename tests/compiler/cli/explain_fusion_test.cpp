// The text of --explain-fusion: equal kernels of several layers once, both sides of a refusal by number.
#include "compiler/cli/shared/program_text.h"

#include <gtest/gtest.h>

namespace smelt::cli {
namespace {

TEST(WithoutLayers, KeepsNumbersThatAreNoLayers) {
  EXPECT_EQ(without_layers("encoder.layer.11.ln_1 + encoder.layer.0"),
            "encoder.layer.*.ln_1 + encoder.layer.*");
  EXPECT_EQ(without_layers("matmul \"h.3\" of f32[4,0.5]"), "matmul \"h.*\" of f32[4,0.5]");
  EXPECT_EQ(without_layers("conv2d.x1.2b 7"), "conv2d.x1.2b 7");
}

TEST(CountedLines, AreTheLinesInOrderOfAppearance) {
  EXPECT_EQ(counted_lines({"b", "a", "b"}), "    2 x b\n    a\n");
  EXPECT_EQ(counted_lines({}), "");
}

FusionReport two_layers() {
  FusionReport report;
  for (int layer = 0; layer < 2; ++layer) {
    const std::string h = "h." + std::to_string(layer);
    report.kernels.push_back(
        {"g", 2 * layer + 1, Phase::forward, h + ".ln", {"sub", "mul", "mul"}, 2048, 1024});
    report.kernels.push_back({"g", 2 * layer + 2, Phase::backward, h + ".ln", {"exp"}, 1024, 1024});
    FusionReport::Border border;
    border.graph = "g", border.producer = 2 * layer + 1, border.consumer = 2 * layer + 2;
    border.reason = FuseReason::cycle,
    border.detail = "a path leads through matmul \"" + h + ".fc\" and back";
    border.bytes = 1024;
    report.borders.push_back(border);
    FusionReport::Border matmul;
    matmul.graph = "g", matmul.consumer = 2 * layer + 1, matmul.other = "matmul \"" + h + ".fc\"";
    report.borders.push_back(matmul);
  }
  return report;
}

TEST(ExplainFusion, TellsEqualKernelsOnceAndBothSidesByNumber) {
  const std::string text = explain_fusion(two_layers(), "");
  for (const char* part :
       {"@g: 4 kernels of 2 kinds\n", "#1 h.*.ln (forward, 2 kernels): reads 2.0 KiB, writes 1.0 KiB\n",
        "    sub, mul x2\n", "    2 x <- matmul \"h.*.fc\", own_step\n",
        "    2 x -> #2 h.*.ln, cycle: a path leads through matmul \"h.*.fc\" and back (1.0 KiB)\n",
        "    2 x <- #1 h.*.ln, cycle: "})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(ExplainFusion, SourcesAreNamedOnce) {
  FusionReport report = two_layers();
  report.kernels[1].source = report.kernels[3].source = "h.0.ln + h.1.ln + h.0.mlp";
  const std::string text = explain_fusion(report, "");
  EXPECT_NE(text.find("#2 h.*.ln + h.*.mlp (backward, 2 kernels)"), std::string::npos) << text;
  EXPECT_NE(text.find("-> #2 ... + h.*.mlp, cycle"), std::string::npos) << text;
}

TEST(ExplainFusion, TheFilterKeepsALayer) {
  const std::string text = explain_fusion(two_layers(), "h.1.");
  EXPECT_NE(text.find("    -> #2 h.*.ln, cycle"), std::string::npos) << text;
  EXPECT_EQ(text.find("2 x"), std::string::npos) << text;
  EXPECT_EQ(explain_fusion(two_layers(), "nowhere").find("#1"), std::string::npos);
}

TEST(ExplainFusion, CompositesThatWereTakenApartSayWhatTheScoresTake) {
  FusionReport report;
  for (const char* layer : {"h.0", "h.1"})
    report.refusals.push_back({std::string("attention \"") + layer + "\"", "no kernel takes it", 4096});
  EXPECT_EQ(
      refusals_text(report, ""),
      "taken apart, no kernel computes it whole:\n    2 x attention \"h.*\": no kernel takes it (4.0 KiB of "
      "scores)\n\n");
}

}  // namespace
}  // namespace smelt::cli
