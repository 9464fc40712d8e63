// Real plans, edited as by hand, are Errors or run (tests/fuzz/plan_edits.cpp).
#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

class PlanEdits : public CommandLine {};

TEST_F(PlanEdits, OfGoldensNeitherEndNorHangTheProcess) {
  std::string plans;
  for (const std::string golden : {"gpt2", "roberta", "bart-uneven", "t5-gated"}) {
    expect_good(smelt("compile " SMELT_SOURCE_DIR "/tests/goldens/" + golden +
                      " --mode=train --target cpu -o " + golden + ".plan"));
    plans += " " + golden + ".plan";
  }
  expect_good(smelt("compile " SMELT_SOURCE_DIR
                    "/tests/goldens/gpt2 --mode=train --target cpu --attention=fused -o blocks.plan"));
  plans += " blocks.plan";
  const Outcome edits = shell("'" SMELT_PLAN_EDITS "'" + plans + " --edits 200");
  EXPECT_EQ(edits.status, 0) << edits.out << edits.err;
  EXPECT_NE(edits.out.find("0 ended the process, 0 did not end"), std::string::npos) << edits.out;
  EXPECT_EQ(edits.out.find(" 0 accepted"), std::string::npos) << edits.out;
}

}  // namespace
}  // namespace smelt::test
