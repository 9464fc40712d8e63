// smelt launch: processes that are the ranks of a run, and how they end.
#include <algorithm>

#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Launch = CommandLine;

std::string rank_program(const std::string& arguments) {
  return std::string("'") + SMELT_RANK_PROGRAM + "' " + arguments;
}

TEST_F(Launch, EveryRankIsToldWhoItIs) {
  spill(path("say.sh"),
        "echo \"$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR\"\n"
        "test -n \"$MASTER_PORT\" && echo \"secret $SMELT_RUN_SECRET\" >&2\n");
  const Outcome outcome = smelt("launch -n 3 -- sh say.sh --verbose");
  expect_good(outcome);
  EXPECT_TRUE(has(outcome.out, "0/3 0/3 127.0.0.1\n")) << outcome.out;
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1) << "rank 0's output alone: " << outcome.out;
  EXPECT_TRUE(has(outcome.err, "rank 1: 1/3 1/3 127.0.0.1\n")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "rank 2: 2/3 2/3 127.0.0.1\n")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "rank 2: secret ")) << outcome.err;
  EXPECT_TRUE(has("\n" + outcome.err, "\nsecret ")) << "rank 0's as it is: " << outcome.err;
}

TEST_F(Launch, WordsAreKept) {
  for (const char* dashes : {"", "-- "})
    EXPECT_EQ(smelt(std::string("launch -n 1 ") + dashes + "printf '%s;' '[a, b]' '' '[c]'").out,
              "[a, b];;[c];");
}

TEST_F(Launch, ThreadsAreShared) {
  const std::string command = binary() + " launch -n 3 -- sh -c 'echo threads $OMP_NUM_THREADS'";
  const Outcome shared =
      shell("unset OMP_NUM_THREADS; " + command + "; n=$(nproc); echo threads $((n < 3 ? 1 : n / 3))");
  const size_t half = shared.out.size() / 2;
  EXPECT_EQ(shared.out.substr(0, half), shared.out.substr(half)) << "as many as a third of the processors";
  EXPECT_EQ(shell("export OMP_NUM_THREADS=3; " + command).out, "threads 3\n");
}

TEST_F(Launch, LinesWithoutAnEndAndWithoutMeasure) {
  const Outcome outcome = smelt("launch -n 2 -- sh -c 'head -c 100000 /dev/zero | tr \"\\0\" x; printf end'");
  expect_good(outcome);
  EXPECT_EQ(std::ranges::count(outcome.err, 'x'), 100000);
  EXPECT_TRUE(has(outcome.err, "end\n")) << "an end of line follows";
}

TEST_F(Launch, RanksWorkTogether) {
  for (const int size : {1, 2, 5}) {
    const Outcome outcome = smelt("launch -n " + std::to_string(size) + " -- " + rank_program("20"));
    expect_good(outcome);
    const std::string sum = std::to_string(size * (size - 1) / 2 + 19 * size);
    EXPECT_EQ(outcome.out, "rank 0 of " + std::to_string(size) + " has " + sum + "\n");
    for (int rank = 1; rank < size; ++rank)
      EXPECT_TRUE(
          has(outcome.err, "rank " + std::to_string(rank) + " of " + std::to_string(size) + " has " + sum))
          << outcome.err;
  }
}

TEST_F(Launch, AFailedRankEndsAll) {
  const Outcome outcome = smelt("launch -n 4 -- " + rank_program("1000000000 fail 2 50"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.err, "rank 2: error: it was asked to\n")) << outcome.err;
  for (const char* rank : {"", "rank 1: ", "rank 3: "})
    EXPECT_TRUE(has("\n" + outcome.err, std::string("\n") + rank + "error: rank 2 (host ")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "failed: it was asked to (it last reported step 50)")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, " of 4 ended with status 1\n")) << outcome.err;
}

TEST_F(Launch, AKilledRankEndsAll) {
  for (const char* victim : {"0", "2"}) {
    const Outcome outcome =
        smelt("launch -n 3 -- " + rank_program(std::string("1000000000 die ") + victim + " 50"));
    EXPECT_EQ(outcome.status, 128 + SIGKILL) << outcome.err;
    EXPECT_TRUE(has(outcome.err, std::string("error: rank ") + victim + " of 3 was ended by signal 9"))
        << outcome.err;
    EXPECT_TRUE(has(outcome.err, std::string("rank 1: error: rank ") + victim + " (host ")) << outcome.err;
  }
}

TEST_F(Launch, RanksThatDoNotListenAreEnded) {
  spill(path("deaf.sh"),
        "[ $RANK = 1 ] && exit 7\n[ $RANK = 2 ] && trap '' TERM\n"
        "while :; do sleep 0.02; done\n");
  const Outcome outcome = smelt("launch -n 3 --grace 0.2 -- sh deaf.sh");
  EXPECT_EQ(outcome.status, 7);
  EXPECT_EQ(outcome.err, "error: rank 1 of 3 ended with status 7\n");
}

TEST_F(Launch, SignalsReachAllRanks) {
  spill(path("wait.sh"),
        "trap 'echo $RANK heard; exit 0' TERM\necho ready > ready.$RANK\n"
        "while :; do sleep 0.02; done\n");
  const Outcome outcome = shell(binary() +
                                " launch -n 2 -- sh wait.sh & launcher=$!; "
                                "until [ -e ready.0 ] && [ -e ready.1 ]; do sleep 0.02; done; "
                                "kill -TERM $launcher; wait $launcher");
  expect_good(outcome);
  EXPECT_TRUE(has(outcome.out, "0 heard")) << outcome.out;
  EXPECT_TRUE(has(outcome.err, "rank 1: 1 heard")) << outcome.err;
}

TEST_F(Launch, AKilledLauncherLeavesNoRanks) {
  spill(path("wait.sh"), "echo $$ > id.$RANK.new; mv id.$RANK.new id.$RANK\nexec sleep 600\n");
  const Outcome outcome =
      shell(binary() +
            " launch -n 2 -- sh wait.sh & launcher=$!; "
            "until [ -e id.0 ] && [ -e id.1 ]; do sleep 0.02; done; kill -KILL $launcher; "
            "for id in $(cat id.0 id.1); do "  // an ended one may be there as a zombie
            "while grep -q '^State:.[^Z]' /proc/$id/status 2>/dev/null; do sleep 0.02; done; done");
  expect_good(outcome);
}

TEST_F(Launch, WhatCannotBeStarted) {
  expect_error(smelt("launch -n 2 -- no-such-program"),
               "rank 0: cannot start 'no-such-program': No such file");
  EXPECT_EQ(smelt("launch -n 0 -- true").status, 2);
  EXPECT_EQ(smelt("launch -n 2").status, 2);
  EXPECT_EQ(smelt("launch -- true").status, 2);
}

TEST_F(Launch, SmeltIsThisOne) {
  const Outcome outcome = smelt("launch -n 2 -- smelt --version");
  expect_good(outcome);
  EXPECT_TRUE(has(outcome.out, "smelt ")) << outcome.out;
}

}  // namespace
}  // namespace smelt::test
