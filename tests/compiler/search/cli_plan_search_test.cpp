// --plan-search of dump, train and bench, and doctor --ranks.
#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using PlanSearchCommands = CommandLine;

TEST_F(PlanSearchCommands, ATableForRanksThatAreNotThere) {
  const Outcome found = smelt("dump $GOLDEN --max B=2,T=16 --plan-search --mesh-size 2 --entry train_step");
  expect_good(found);
  for (const char* part : {"predicted ms", "exposed ms", "sequences", "parts", "bubble", "GiB a rank",
                           "4 records an update", ">  data=2", "model=2", "rates assumed of cpu"})
    EXPECT_TRUE(has(found.out, part)) << part << found.out;
}

TEST_F(PlanSearchCommands, StagesHaveAReasonWhereTheyAreNotOffered) {
  const Outcome found = smelt(
      "dump $GOLDEN --max B=2,T=16 --plan-search --mesh-size 2 --target sm_90 --masters none "
      "--precision bf16 --entry train_step");
  expect_good(found);
  EXPECT_TRUE(has(found.out, "not offered: ")) << found.out;
  EXPECT_TRUE(has(found.out, "parameters without f32 masters")) << found.out;
}

TEST_F(PlanSearchCommands, ABudgetIsKeptOrRefused) {
  const std::string command = "dump $GOLDEN --max B=2,T=16 --plan-search --mesh-size 2 --entry train_step ";
  const Outcome none = smelt(command + "--memory-budget 10KiB");
  expect_error(none, "no plan fits in");
  EXPECT_TRUE(has(none.out, "does not fit")) << none.out;
  for (const char* other :
       {"--mesh data=2", "--zero 1", "--recompute layers", "--sequence-parallel", "--pipeline-parts 2"})
    EXPECT_NE(smelt(command + other).status, 0) << other;
  EXPECT_NE(smelt("dump $GOLDEN --mesh-size 2").status, 0);
}

TEST_F(PlanSearchCommands, AllRanksTrainWhatWasChosen) {
  write_text("text.txt", 60);
  const Outcome run = smelt("launch -n 2 -- " + binary() +
                            " train $GOLDEN --from-scratch --data text.txt --data-format bytes --batch 2 "
                            "--length 16 --lr 0.01 --steps 3 "
                            "--plan-search --no-plan-cache");
  expect_good(run);
  EXPECT_TRUE(has(run.err, "4 records an update")) << run.err;
  EXPECT_TRUE(has(run.out, "predicted ")) << run.out;
  EXPECT_TRUE(has(run.out, "measured ")) << run.out;
}

TEST_F(PlanSearchCommands, OneRankHasAChoiceToo) {
  const Outcome run = smelt(
      "bench --layers 1 --width 32 --heads 2 --length 16 --batch 2 --steps 2 --warm-up 1 --plan-search "
      "--no-plan-cache");
  expect_good(run);
  EXPECT_TRUE(has(run.err, "2 records an update")) << run.err;
  EXPECT_TRUE(has(run.err, "predicted ")) << run.err;
}

TEST_F(PlanSearchCommands, MeasuredRatesAreKeptAndUsed) {
  expect_error(smelt("doctor --ranks"), "smelt launch -n 2 -- smelt doctor --ranks");
  const std::string cache = "SMELT_CACHE_DIR=" + quoted("cache");
  const Outcome measured = shell("export OMP_NUM_THREADS=1 " + cache + "; " + binary() + " launch -n 2 -- " +
                                 binary() + " doctor --ranks --target cpu");
  expect_good(measured);
  for (const char* part :
       {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "alpha us", "link GB/s", "kept"})
    EXPECT_TRUE(has(measured.out, part)) << measured.out;
  const Outcome found = shell("export " + cache + "; " + binary() + " dump '" + kGolden.string() +
                              "' --max B=2,T=16 --plan-search --mesh-size 2 --entry train_step");
  expect_good(found);
  EXPECT_TRUE(has(found.out, "rates of 2 ranks measured on ")) << found.out;
}

TEST_F(PlanSearchCommands, ASummaryHasWhatRanksExchange) {
  const Outcome summary = smelt(
      "dump $GOLDEN --max B=2,T=16 --mesh data=2 --zero 1 --entry train_step --summary --filter=nothing");
  expect_good(summary);
  for (const char* part : {"over a link", "reduce_scatter", "all_gather", "hidden ms", "exposed ms",
                           "by the formula, without padding", "train_step along data"})
    EXPECT_TRUE(has(summary.out, part)) << part << summary.out;
}

}  // namespace
}  // namespace smelt::test
