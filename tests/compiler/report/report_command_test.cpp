// smelt report and smelt diff: pages and texts of the built command line, and the page in a browser.
#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Report = CommandLine;

const std::string kModel = "$GOLDEN --max B=2,T=16 --entry train_step";

/// The page with a script at its end.
std::string with_script(std::string page, const std::string& script) {
  const std::string end = "</body>";
  return page.insert(page.rfind(end),
                     "<script>\naddEventListener(\"load\", () => {\n" + script + "\n});\n</script>\n");
}

TEST_F(Report, AnswersByClicksInABrowser) {
  if (shell("command -v chromium").status != 0) GTEST_SKIP() << "chromium is not installed";
  expect_good(smelt("compile $GOLDEN --max B=2,T=16 --disable-pass=rewrite_reductions -o other.plan"));
  const Outcome made = smelt("report " + kModel + " --against other.plan -o page.html");
  expect_good(made);
  EXPECT_TRUE(has(made.out, "wrote page.html")) << made.out;
  spill(path("clicks.html"), with_script(slurp(path("page.html")), slurp(fs::path(SMELT_SOURCE_DIR) /
                                                                         "tests/compiler/report/clicks.js")));
  const Outcome seen = shell(
      "timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
      "--user-data-dir=profile "
      "--virtual-time-budget=5000 --dump-dom clicks.html");
  EXPECT_TRUE(has(seen.out, " checks passed")) << seen.out.substr(0, 4000) << seen.err.substr(0, 2000);
}

TEST_F(Report, TakesAPlanToo) {
  expect_good(smelt("compile $GOLDEN --mode=infer --max B=2,T=16 --entry logits -o model.plan"));
  expect_good(smelt("report model.plan -o page.html"));
  EXPECT_TRUE(has(slurp(path("page.html")), "\"from_plan\":true"));
  expect_good(smelt("report model.plan --against model.plan -o page.html"));
}

TEST_F(Report, ShowsAdaptersThatAreTrained) {
  expect_good(smelt("report " + kModel + " --lora r=4 -o page.html"));
  EXPECT_TRUE(has(slurp(path("page.html")), "lora_A"));
}

TEST_F(Report, ShowsARun) {
  if (shell("command -v chromium").status != 0) GTEST_SKIP() << "chromium is not installed";
  write_text("text.txt", 4000);
  expect_good(smelt(
      "train $GOLDEN --data text.txt --data-format bytes --batch 2 --length 16 --steps 6 --eval-every 2 "
      "--eval-batches 1 --sample-every 6 --sample-tokens 4 --checkpoint-every 6 --run-dir run --quiet"));
  const Outcome made = smelt("report run -o run.html");
  expect_good(made);
  EXPECT_TRUE(has(made.out, "wrote run.html")) << made.out;
  spill(path("clicks.html"),
        with_script(slurp(path("run.html")),
                    slurp(fs::path(SMELT_SOURCE_DIR) / "tests/compiler/report/run_clicks.js")));
  const Outcome seen = shell(
      "timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
      "--user-data-dir=profile --virtual-time-budget=5000 --dump-dom clicks.html");
  EXPECT_TRUE(has(seen.out, " checks passed")) << seen.out.substr(0, 4000) << seen.err.substr(0, 2000);
}

TEST_F(Report, OptionsOfAPlanAreRefusedForARun) {
  fs::create_directory(path("run"));
  spill(path("run/metrics.jsonl"), "");
  expect_error(smelt("report run -o page.html"), "there is no step in it yet");
  expect_error(smelt("report run --target sm_90 -o page.html"), "--target says nothing");
}

TEST_F(Report, MistakesAreSaid) {
  EXPECT_EQ(smelt("report $GOLDEN").status, 2);  // no file to write
  expect_error(smelt("report nowhere -o page.html"), "nowhere");
  expect_error(smelt("report " + kModel + " --profile none.json -o page.html"), "none.json");
  expect_good(smelt("compile $GOLDEN --mode=infer --max B=2,T=16 --entry logits -o model.plan"));
  expect_error(smelt("report model.plan --entry train_step -o page.html"), "there are: @logits");
  expect_error(smelt("report model.plan --precision bf16 --max B=1 -o page.html"),
               "is a compiled plan, which --precision, --max cannot change");
  expect_error(smelt("report model.plan --lora r=4 -o page.html"), "a plan has no room for them");
}

TEST_F(Report, DiffNamesTheChangedSteps) {
  expect_good(smelt("compile $GOLDEN --max B=2,T=16 --entry train_step -o a.plan"));
  expect_good(
      smelt("compile $GOLDEN --max B=2,T=16 --entry train_step --disable-pass=rewrite_reductions -o b.plan"));
  const Outcome same = smelt("diff a.plan " + kModel);
  expect_good(same);
  EXPECT_EQ(same.out, "the plans have the same steps\n");
  const Outcome other = smelt("diff a.plan b.plan");
  expect_good(other);
  for (const char* part : {"@train_step: ", " -> ", "    - #", "    + #", "attn.softmax"})
    EXPECT_TRUE(has(other.out, part)) << part << " in " << other.out;
  expect_error(smelt("diff a.plan"
                     " nowhere"),
               "nowhere");
}

}  // namespace
}  // namespace smelt::test
