#include "runtime/engine/serving/drafts.h"

#include <gtest/gtest.h>

#include <array>

#include <vector>

#include "runtime/engine/serving/drafter.h"

namespace smelt {
namespace {

std::vector<int32_t> continuation(const std::vector<int32_t>& text, size_t most) {
  return likely_continuation(text, most);
}

using Tokens = std::vector<int32_t>;

TEST(Drafts, ContinueAsTheLatestOccurrenceOfTheLongestEnd) {
  EXPECT_EQ(continuation({7, 8, 1, 2, 3, 9, 8}, 3), Tokens{});  // one token alone is no reason
  EXPECT_EQ(continuation({1, 2, 5, 6, 1, 2}, 3), (Tokens{5, 6, 1}));
  EXPECT_EQ(continuation({1, 2, 5, 6, 1, 2}, 1), Tokens{5});
  EXPECT_EQ(continuation({1, 2, 5, 1, 2, 6, 1, 2}, 1), Tokens{6});           // the latest
  EXPECT_EQ(continuation({9, 1, 2, 5, 7, 1, 2, 6, 9, 1, 2}, 1), Tokens{5});  // the longest
  EXPECT_EQ(continuation({4, 4, 4, 4}, 3), (Tokens{4, 4, 4}));               // goes on with its own tokens
  EXPECT_EQ(continuation({9, 4, 5, 4, 5}, 5), (Tokens{4, 5, 4, 5, 4}));
  EXPECT_EQ(continuation({1, 2, 3, 1, 2}, 7), (Tokens{3, 1, 2, 3, 1, 2, 3}));
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
  length.record(10, 6);
  EXPECT_EQ(length.next(10), 6U);
  for (size_t pause : {1, 2, 4, 8, 16, 32, 64, 64}) {
    length.record(6, 0);
    for (size_t i = 0; i < pause; ++i) EXPECT_EQ(length.next(10), 0U) << pause;
    EXPECT_EQ(length.next(10), 1U) << pause;
  }
  length.record(1, 1);
  EXPECT_EQ(length.next(10), 2U);
  length.record(2, 1);  // half is a success
  EXPECT_EQ(length.next(10), 1U);
  length.record(10, 4);  // the pause was 64, and is quartered twice and doubled
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(length.next(10), 0U) << i;
  EXPECT_EQ(length.next(10), 4U);
}

TEST(DraftLength, ExpectsWhatEarlierDraftsKept) {
  DraftLength length;
  EXPECT_EQ(length.expected(), 4);
  length.record(4, 0), length.record(1, 0), length.record(1, 0), length.record(1, 0);
  EXPECT_EQ(length.expected(), 0.25);
  for (int token = 0; token < 64; ++token) length.next(16);
  EXPECT_EQ(length.expected(), 0.5) << "it grows by a 256th per token";
  for (int token = 0; token < 1000; ++token) length.next(16);
  EXPECT_EQ(length.expected(), 1);
  length.record(8, 8);
  EXPECT_EQ(length.expected(), 4.5);
}

TEST(DraftLength, PausesLaterWithPatience) {
  DraftLength length(3, 2);
  for (int failure = 0; failure < 2; ++failure) {
    EXPECT_GT(length.next(16), 0U) << failure;
    length.record(3, 0);
  }
  EXPECT_EQ(length.next(16), 1U);
  length.record(1, 0);  // the third in succession
  EXPECT_EQ(length.next(16), 0U);
  EXPECT_EQ(length.next(16), 1U);
  length.record(1, 1);
  length.record(2, 0);  // the first again
  EXPECT_EQ(length.next(16), 1U);
}

TEST(LookupDrafter, LeavesTokensThatATextDoesNotUseToLaterTexts) {
  const Tokens none = {1, 2, 3}, repeated = {1, 2, 5, 6, 7, 8, 1, 2};
  std::array<DraftText, 4> texts = {DraftText{.number = 1, .tokens = none, .most = 8},
                                    DraftText{.number = 2, .tokens = repeated, .most = 0},
                                    DraftText{.number = 3, .tokens = repeated, .most = 3},
                                    DraftText{.number = 4, .tokens = repeated, .most = 8}};
  LookupDrafter().draft(texts, 7);
  EXPECT_TRUE(texts[0].draft.empty());
  EXPECT_TRUE(texts[1].draft.empty()) << "it wants none";
  EXPECT_EQ(texts[2].draft, (Tokens{5, 6, 7}));
  EXPECT_EQ(texts[3].draft, (Tokens{5, 6, 7, 8}));
}

}  // namespace
}  // namespace smelt
