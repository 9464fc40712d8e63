// --memory-budget, --recompute and dump --memory-curve.
#include "compiler/driver/option_forms.h"
#include "runtime/base/error.h"
#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using MemoryCommands = CommandLine;

TEST(ParseBytes, TakesUnitsOfTwoAndOfTen) {
  constexpr std::pair<const char*, int64_t> kAmounts[] = {
      {"12GiB", int64_t{12} << 30}, {"800 MiB", 800 << 20}, {"1.5GB", 1'500'000'000},
      {"64KiB", 64 << 10},          {"4096", 4096},         {"0.5TiB", int64_t{1} << 39}};
  for (const auto& [text, bytes] : kAmounts) EXPECT_EQ(parse_bytes(text), bytes) << text;
  for (const char* text : {"", "GiB", "-1GiB", "0", "12 gigs", "nan", "inf", "1e300", "12GiB more"})
    EXPECT_THROW(parse_bytes(text), Error) << text;
}

TEST_F(MemoryCommands, TheCurveIsATable) {
  const Outcome curve = smelt("dump $GOLDEN --max B=8,T=32 --entry train_step --memory-curve");
  expect_good(curve);
  for (const char* part : {"recompute", "% kept", "predicted ms", "FLOP again", "cheap", "price=", "100.0"})
    EXPECT_TRUE(has(curve.out, part)) << curve.out;
}

TEST_F(MemoryCommands, ABudgetIsKeptOrRefused) {
  const std::string command = "dump $GOLDEN --max B=8,T=32 --entry train_step --attention fused ";
  const Outcome enough = smelt(command + "--memory-curve --memory-budget 1GiB");
  expect_good(enough);
  EXPECT_TRUE(has(enough.out, ">  cheap")) << enough.out;
  expect_error(smelt(command + "--memory-budget 10KiB"), "no plan fits in a memory budget of");
  const Outcome lots = smelt(command + "--memory-budget lots"), most = smelt(command + "--recompute most");
  EXPECT_EQ(lots.status, 2);
  EXPECT_EQ(most.status, 2);
  EXPECT_TRUE(has(lots.err, "--memory-budget=lots: 'lots' is no amount of memory")) << lots.err;
  EXPECT_TRUE(has(most.err, "'most' is not known")) << most.err;
  expect_error(smelt(command + "--recompute layers --memory-budget 1GiB"), "leave it or --recompute out");
  expect_error(smelt(command + "--mode infer --memory-budget 1GiB"), "there is no entry @train_step");
}

TEST(ParseOffload, TakesSharesAndBytes) {
  EXPECT_FALSE(parse_offload("none").on());
  EXPECT_EQ(parse_offload("all").share, 1);
  EXPECT_EQ(parse_offload("62.5%").share, 0.625);
  EXPECT_EQ(parse_offload("6GiB").bytes, int64_t{6} << 30);
  for (const char* text : {"", "half", "101%", "-1%", "%", "5 %x", "nan%"})
    EXPECT_THROW(parse_offload(text), Error) << text;
}

TEST_F(MemoryCommands, StatesInTheHostsMemoryAreATable) {
  const std::string command =
      "dump $GOLDEN --max B=8,T=32 --entry train_step --precision bf16 --optimizer adamw --summary ";
  const Outcome table = smelt(command + "--target sm_90 --offload-optimizer all");
  expect_good(table);
  for (const char* part : {"bytes on the device", "in the host's memory", "bytes from the host", "adam.m"})
    EXPECT_TRUE(has(table.out, part)) << table.out;
  EXPECT_FALSE(has(smelt(command + "--target sm_90").out, "in the host's memory"));
  expect_error(smelt(command + "--offload-optimizer all"), "the target is cpu, which has that memory alone");
  const Outcome most = smelt(command + "--target sm_90 --offload-optimizer most");
  EXPECT_EQ(most.status, 2);
  EXPECT_TRUE(has(most.err, "'most' is no amount of memory")) << most.err;
  expect_error(smelt("dump $GOLDEN --max B=8,T=32 --target sm_90 --optimizer lamb --offload-optimizer all "
                     "--entry train_step --summary"),
               "'lamb.m'");
}

TEST_F(MemoryCommands, SummaryNamesThePeakAndWhatIsAliveThere) {
  const Outcome summary = smelt("dump $GOLDEN --max B=8,T=32 --target sm_90 --precision bf16 --summary");
  expect_good(summary);
  for (const char* part :
       {"peak of train_step: ", " bytes in use at step ", "peak of evaluate: ", "others)", "h.*."})
    EXPECT_TRUE(has(summary.out, part)) << part << " in\n" << summary.out;
}

TEST_F(MemoryCommands, TrainingSaysWhatItTakes) {
  write_text("text.txt", 40);
  const Outcome run = smelt(
      "train $GOLDEN --from-scratch --data text.txt --data-format bytes --batch 4 --length 16 --lr 0.01 "
      "--steps 2 --memory-budget 1GiB --no-plan-cache");
  expect_good(run);
  EXPECT_TRUE(has(run.err, ">  cheap")) << run.err;
  EXPECT_TRUE(has(run.out, "loss")) << run.out;
}

}  // namespace
}  // namespace smelt::test
