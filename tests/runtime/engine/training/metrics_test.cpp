#include "runtime/engine/training/metrics.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/engine/training/loss_curve.h"
#include "runtime/system/file.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

StepRecord step_record(int64_t step, double loss) {
  StepRecord record;
  record.step = step, record.loss = loss;
  return record;
}

TEST(JsonLines, EveryLineIsAnObject) {
  std::ostringstream out;
  JsonLines lines(out);
  lines.stepped(step_record(1, 2.5));  // its gradient norm is NaN
  lines.evaluated({1, 3.25, 100, 1.5});
  lines.sampled(1, "a \xff \"b\"\n");
  lines.saved(1, "x.safetensors");
  lines.message("hello");
  std::istringstream in(out.str());
  std::vector<std::string> events;
  for (std::string line; std::getline(in, line);) events.push_back(nlohmann::json::parse(line)["event"]);
  EXPECT_EQ(events, (std::vector<std::string>{"step", "evaluation", "sample", "checkpoint", "message"}));
  EXPECT_HAS(out.str(), R"("gradient_norm":null)");
}

TEST(JsonLines, AFullDiskIsAnError) {
  std::ofstream full("/dev/full");
  if (!full) GTEST_SKIP() << "no /dev/full on this machine";
  JsonLines lines(full);
  EXPECT_HAS(message_of([&] { lines.message("hello"); }), "is the disk full");
}

TEST(Metrics, AreTruncatedToAStepAndATornLineGoes) {
  const TemporaryDirectory d;
  const auto file =
      d.write("m.jsonl",
              "{\"event\":\"step\",\"step\":1,\"loss\":5}\n{\"event\":\"evaluation\",\"step\":1,\"loss\":4}\n"
              "{\"event\":\"step\",\"step\":2,\"loss\":null}\n{\"event\":\"step\",\"step\":3,\"loss\":3}\n"
              "{\"event\":\"step\",\"st");
  const LossHistory history = truncate_metrics(file, 2);
  EXPECT_EQ(history.train, (std::vector<std::pair<int64_t, double>>{{1, 5}}));
  EXPECT_EQ(history.held_back, (std::vector<std::pair<int64_t, double>>{{1, 4}}));
  const std::string left = read_text_file(file);
  EXPECT_EQ(std::ranges::count(left, '\n'), 3);
  EXPECT_EQ(left.find("\"step\":3"), std::string::npos);
  EXPECT_TRUE(truncate_metrics(d / "absent", 5).train.empty());
}

TEST(TerminalProgress, DrawsABarOnATerminalOnly) {
  std::ostringstream bar, plain;
  TerminalProgress on(bar, {.bar = true, .color = false, .width = 80}), off(plain, {});
  for (TerminalProgress* p : {&on, &off}) {
    p->started(0, 10);
    p->stepped(step_record(10, 2.5));
    p->evaluated({10, 3.25, 100, 1});
    p->finished(10);
  }
  EXPECT_HAS(bar.str(), "10/10  loss 2.5000");
  EXPECT_HAS(bar.str(), "█");
  EXPECT_EQ(plain.str(), "step     10  held-back loss 3.2500\n");
}

TEST(TerminalStyle, APipeIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_FALSE(terminal_style(ends[1]).bar);
  EXPECT_FALSE(terminal_style(ends[1]).color);
  ::close(ends[0]), ::close(ends[1]);
}

TEST(TerminalStyle, NoColorIsRespected) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "no pseudo-terminal on this machine";
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(terminal_style(terminal).color);
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(terminal_style(terminal).bar);
  EXPECT_FALSE(terminal_style(terminal).color);
  ::unsetenv("NO_COLOR");
  ::close(terminal);
}

LossHistory falling(int64_t steps) {
  LossHistory history;
  for (int64_t i = 1; i <= steps; ++i) {
    history.train.emplace_back(i,
                               1.5 + 4 * std::exp(-static_cast<double>(i) / 100) + 0.1 * std::sin(i * 1.7));
    if (i % 100 == 0) history.held_back.emplace_back(i, 1.6 + 4 * std::exp(-static_cast<double>(i) / 100));
  }
  return history;
}

TEST(LossCurve, ShowsBothLossesWithAxes) {
  const std::string svg = render_loss_curve(falling(600), "a < b & c");
  for (const char* part :
       {"a &lt; b &amp; c", ">step<", "loss (nats per token)", ">training<", ">held back<", ">600<"})
    EXPECT_HAS(svg, part);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

/// The heights of a path's points, from "M72.0 64.0L73.1 65.2".
std::vector<double> heights(const std::string& svg, const std::string& style) {
  const size_t end = svg.rfind("\" fill", svg.find(style)), begin = svg.rfind("d=\"", end) + 3;
  std::string path = svg.substr(begin, end - begin);
  for (char& c : path)
    if (c == 'M' || c == 'L') c = ' ';
  std::istringstream numbers(path);
  std::vector<double> result;
  for (double x, y; numbers >> x >> y;) result.push_back(y);
  return result;
}

/// One step far off moves the line by its share of those around it, also where it is the last.
TEST(LossCurve, TheSmoothedLineDoesNotFollowItsLastPoint) {
  LossHistory level;
  for (int64_t i = 1; i <= 600; ++i) level.train.emplace_back(i, i == 600 ? 1.0 : 3.0);
  const std::string svg = render_loss_curve(level, "");
  const std::vector<double> steps = heights(svg, "opacity"), line = heights(svg, "stroke-width=\"2\"");
  ASSERT_EQ(line.size(), 600u);
  const double drop = steps[599] - steps[0];
  EXPECT_GT(drop, 300);
  EXPECT_LT(line[599] - line[0], drop / 4);
}

TEST(LossCurve, TheSmoothedLineFollowsAFallingLossToItsEnds) {
  LossHistory falling;
  for (int64_t i = 1; i <= 600; ++i) falling.train.emplace_back(i, 7 - 0.01 * static_cast<double>(i));
  const std::string svg = render_loss_curve(falling, "");
  const std::vector<double> steps = heights(svg, "opacity"), line = heights(svg, "stroke-width=\"2\"");
  for (size_t i = 0; i < 600; ++i) EXPECT_NEAR(line[i], steps[i], 0.11) << i;
}

/// No line reaches to the right of the plot, where the last value stands.
TEST(LossCurve, TheLastValueStandsBesideThePlot) {
  const std::string svg = render_loss_curve(falling(600), "");
  const size_t label = svg.find(">1.610<");
  ASSERT_NE(label, std::string::npos) << svg;
  const double x = std::stod(svg.substr(svg.rfind("x=\"", label) + 3));
  const size_t last = svg.rfind("<circle cx=\"", label);
  EXPECT_GT(x, std::stod(svg.substr(last + 12)) + 3);
  EXPECT_LT(x, 860);
}

TEST(LossCurve, StaysSmallAndFiniteForAnyHistory) {
  EXPECT_LT(render_loss_curve(falling(200'000), "long").size(), 200'000u);
  LossHistory odd;
  odd.train = {{1, NAN}, {2, INFINITY}, {3, 2.0}};
  odd.held_back = {{3, 2.0}};
  for (const LossHistory& history : {LossHistory{}, odd}) {
    const std::string svg = render_loss_curve(history, "");
    for (const char* bad : {"nan", "inf"}) EXPECT_EQ(svg.find(bad), std::string::npos) << svg;
  }
}

}  // namespace
}  // namespace smelt
