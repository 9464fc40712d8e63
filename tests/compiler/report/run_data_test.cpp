// The data of a report about a run, from metrics that are written here.
#include "compiler/report/run_data.h"

#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/system/file.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

std::string step_line(int step, const std::string& loss) {
  return fmt::format(
      R"({{"event": "step", "step": {0}, "loss": {1}, "learning_rate": 0.5, "gradient_norm": null,)"
      R"( "milliseconds": 1800, "tokens_per_second": {0}, "tokens": {2}, "peak_bytes": 7}})"
      "\n",
      step, loss, 10 * step);
}

class RunData : public ::testing::Test {
 protected:
  Json read(const std::string& metrics) {
    write_file(directory_ / "metrics.jsonl", metrics);
    return run_data(directory_.path(), "smelt report run");
  }
  TemporaryDirectory directory_;
};

TEST_F(RunData, KeepsEveryEventAndAddsTimes) {
  const Json data = read(step_line(1, "4.5") + step_line(2, "4.0") +
                         R"({"event": "evaluation", "step": 2, "loss": 4.25, "milliseconds": 900})"
                         "\n" +
                         R"({"event": "sample", "step": 2, "text": "of a"})"
                         "\n" +
                         R"({"event": "ste)");
  EXPECT_EQ(data["steps"].size(), 2u);
  EXPECT_EQ(data["steps"][1]["hours"], 0.001);
  EXPECT_FALSE(data["steps"][0].contains("gradient_norm"));
  EXPECT_EQ(data["time"]["steps"], 3.6);
  EXPECT_EQ(data["time"]["evaluations"], 0.9);
  EXPECT_EQ(data["samples"][0]["text"], "of a");
  EXPECT_EQ(data["anomalies"], 0);
}

TEST_F(RunData, OfARunThatGoesOnReadsWhatWasAdded) {
  const auto file = directory_ / "metrics.jsonl";
  const std::string first = step_line(1, "4.5"), second = step_line(2, "4.0"), half = second.substr(0, 30);
  RunEvents events(directory_.path());
  const auto steps = [&](const std::string& metrics) {
    write_file(file, metrics);
    return run_data(events, directory_.path(), "smelt watch run")["steps"];
  };
  EXPECT_EQ(steps(first + half).size(), 1u);
  const Json both = steps(first + second);
  EXPECT_EQ(both, run_data(directory_.path(), "")["steps"]);
  EXPECT_EQ(steps(first + second + first).size(), 3u);
  EXPECT_EQ(steps(second + first + second + first)[0]["step"], 2) << "another run";
  EXPECT_EQ(steps(first).size(), 1u) << "from the beginning";
}

TEST_F(RunData, ThinsLongRunsToMeans) {
  std::string metrics;
  for (int step = 1; step <= 4001; ++step) metrics += step_line(step, fmt::format("{}", step));
  const Json data = read(metrics);
  EXPECT_EQ(data["steps"].size(), 1334u);
  EXPECT_EQ(data["steps"][0]["loss"], 2);
  EXPECT_EQ(data["steps"][0]["step"], 3);
  EXPECT_EQ(data["steps"][1333]["loss"], 4000.5);
  EXPECT_EQ(data["median"]["tokens_per_second"], 2001);
}

TEST_F(RunData, CountsStepsWithoutALoss) {
  const Json data = read(step_line(1, "4.5") + step_line(2, "null"));
  EXPECT_EQ(data["anomalies"], 1);
  EXPECT_FALSE(data["steps"][1].contains("loss"));
}

TEST_F(RunData, EventsOfOtherTypesAreLeftOut) {
  const Json data = read(step_line(1, "4.5") +
                         R"({"event": 7})"
                         "\n" +
                         R"({"event": "message", "text": 7})"
                         "\n" +
                         "[1]\n");
  EXPECT_EQ(data["steps"].size(), 1u);
  EXPECT_EQ(data["messages"], Json::array({""}));
}

TEST_F(RunData, MetricsWithoutAStepAreAnError) {
  EXPECT_FALSE(is_run_directory(directory_.path()));
  EXPECT_THROW(read("no json\n"), Error);
  EXPECT_TRUE(is_run_directory(directory_.path()));
}

}  // namespace
}  // namespace smelt
