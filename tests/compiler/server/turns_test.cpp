// What ranks that serve together hear of the first one.
#ifdef SMELT_SERVER
#include "compiler/server/turns.h"

#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/support/thread_ranks.h"

namespace smelt::server {
namespace {

Turn full_turn() {
  return {.asked = {{.body = "{\"prompt\": \"\xff\"}", .seed = 4000000000u}, {.body = "", .seed = 0}},
          .cancelled = {3, uint64_t{1} << 40},
          .choices = "{\"a\": 1}",
          .ends = false};
}

void expect_full(const Turn& turn) {
  const Turn expected = full_turn();
  ASSERT_EQ(turn.asked.size(), 2U);
  EXPECT_EQ(turn.asked[0].body, expected.asked[0].body);
  EXPECT_EQ(turn.asked[0].seed, expected.asked[0].seed);
  EXPECT_EQ(turn.cancelled, expected.cancelled);
  EXPECT_EQ(turn.choices, expected.choices);
  EXPECT_FALSE(turn.ends);
}

TEST(TurnsOfServer, AreReadAsTheyWereWritten) {
  expect_full(parse_turn(to_bytes(full_turn())));
  EXPECT_EQ(to_bytes({}), "") << "most turns tell nothing";
  EXPECT_FALSE(parse_turn("").ends);
  Turn last;
  last.ends = true;
  EXPECT_TRUE(parse_turn(to_bytes(last)).ends);
}

TEST(TurnsOfServer, BytesOfSomethingElseAreAnError) {
  const std::string bytes = to_bytes(full_turn());
  EXPECT_HAS(message_of([&] { parse_turn(bytes.substr(0, bytes.size() / 2)); }), "rank 0 said");
  EXPECT_HAS(message_of([] { parse_turn("\xa0"); }), "rank 0 said");  // an object without members
  EXPECT_HAS(message_of([] { parse_turn("\x80"); }), "rank 0 said");  // a list
}

TEST(TurnsOfServer, AllRanksHearTheSame) {
  for (const char* mesh : {"model=2", "model=3"})
    test::ThreadRanks(parse_mesh(mesh)).run([](RankGroups& ranks) {
      Turns turns(ranks);
      ContinuousBatchCounts counts;
      counts.steps = 5;
      for (const Turn& told : {full_turn(), Turn{}, full_turn()}) {
        if (ranks.rank() == 0)
          turns.tell(told, counts);
        else if (const Turn heard = turns.hear(counts); !told.asked.empty())
          expect_full(heard);
        else
          EXPECT_TRUE(heard.asked.empty() && heard.cancelled.empty());
      }
    });
}

TEST(TurnsOfServer, ABatchThatIsNotAsTheFirstOnesIsAnError) {
  const auto run = [] {
    test::ThreadRanks(parse_mesh("model=2")).run([](RankGroups& ranks) {
      Turns turns(ranks);
      ContinuousBatchCounts counts;
      counts.new_tokens = ranks.rank() == 0 ? 7 : 6;
      if (ranks.rank() == 0)
        turns.tell({}, counts);
      else
        turns.hear(counts);
    });
  };
  const std::string message = message_of(run);
  EXPECT_HAS(message, "rank 1");
  EXPECT_HAS(message, "6 new ones");
  EXPECT_HAS(message, "7 new ones");
}

}  // namespace
}  // namespace smelt::server
#endif
