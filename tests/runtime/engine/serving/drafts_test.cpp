#include "runtime/engine/serving/drafts.h"

#include <gtest/gtest.h>

#include <vector>

namespace smelt {
namespace {

std::vector<int32_t> continuation(const std::vector<int32_t>& text, size_t most) {
  const auto found = likely_continuation(text, most);
  return {found.begin(), found.end()};
}

using Tokens = std::vector<int32_t>;

TEST(Drafts, ContinueAsTheLatestOccurrenceOfTheLongestEnd) {
  EXPECT_EQ(continuation({7, 8, 1, 2, 3, 9, 8}, 3), Tokens{});  // one token alone is no reason
  EXPECT_EQ(continuation({1, 2, 5, 6, 1, 2}, 3), (Tokens{5, 6, 1}));
  EXPECT_EQ(continuation({1, 2, 5, 6, 1, 2}, 1), Tokens{5});
  EXPECT_EQ(continuation({1, 2, 5, 1, 2, 6, 1, 2}, 1), Tokens{6});           // the latest
  EXPECT_EQ(continuation({9, 1, 2, 5, 7, 1, 2, 6, 9, 1, 2}, 1), Tokens{5});  // the longest
  EXPECT_EQ(continuation({4, 4, 4, 4}, 5), Tokens{4});                       // ends with the text
  EXPECT_EQ(continuation({}, 5), Tokens{});
  EXPECT_EQ(continuation({1, 1}, 5), Tokens{});
  EXPECT_EQ(continuation({1, 2, 5, 1, 2}, 0), Tokens{});
}

TEST(DraftLength, GrowsWithSuccessAndPausesAfterFailures) {
  DraftLength length;
  EXPECT_EQ(length.next(16), 4U);
  length.record(4, 4);
  EXPECT_EQ(length.next(16), 8U);
  length.record(8, 8);
  EXPECT_EQ(length.next(10), 10U);  // of 16
  length.record(10, 3);
  EXPECT_EQ(length.next(10), 3U);
  for (size_t pause : {1, 2, 4, 8, 16, 32, 32}) {
    length.record(3, 0);
    for (size_t i = 0; i < pause; ++i) EXPECT_EQ(length.next(10), 0U) << pause;
    EXPECT_EQ(length.next(10), 1U) << pause;
  }
  length.record(1, 1);
  EXPECT_EQ(length.next(10), 2U);
}

}  // namespace
}  // namespace smelt
