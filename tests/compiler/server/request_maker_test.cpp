// Requests that are made of the body of POST /v1/completions.
#include "compiler/server/request_maker.h"

#include <gtest/gtest.h>

#include "runtime/engine/serving/api_error.h"

namespace smelt::server {
namespace {

constexpr int64_t kBytes = 256;
constexpr size_t kCapacity = 20;

class MakeRequests : public ::testing::Test {
 protected:
  static std::vector<Request> make(const RequestMaker& maker, const std::string& fields) {
    return maker.make(maker.read("{" + fields + "}"), [](const Request&) {}).requests;
  }
  std::vector<Request> make(const std::string& fields) const { return make(maker_, fields); }
  std::vector<int32_t> prompt_of(const std::string& fields) const { return make(fields)[0].prompt; }
  /// Returns the name of the field that is refused.
  static std::string fault(const RequestMaker& maker, const std::string& fields) {
    try {
      make(maker, fields);
    } catch (const ApiError& error) {
      return error.param();
    }
    return "no ApiError";
  }

  const cli::PromptText texts_{cli::Model{}, kBytes, false};
  const RequestMaker maker_{texts_, "", false, kCapacity};
  const RequestMaker sources_{texts_, "", true, kCapacity};
};

TEST_F(MakeRequests, EachChoiceHasTheOptionsOfItsEnd) {
  const auto requests = make(R"("prompt": "ab", "n": 3, "priority": -7, "min_tokens": 4,
                                "include_stop_str_in_output": true, "stop": "x")");
  ASSERT_EQ(requests.size(), 3U);
  for (const Request& each : requests) {
    EXPECT_EQ(each.priority, -7);
    EXPECT_EQ(each.unstopped_tokens, 4U);
    EXPECT_EQ(each.options.min_new_tokens, 4);
    EXPECT_TRUE(each.includes_stop);
  }
  EXPECT_EQ(make(R"("prompt": "ab", "min_new_tokens": 4)")[0].unstopped_tokens, 0U);
}

TEST_F(MakeRequests, OtherRanksMakeTheSame) {
  const std::string body = R"({"prompt": "abcdef", "truncate_prompt_tokens": 4, "bad_words": ["xy"],
                               "priority": 3, "max_tokens": 5})";
  const std::vector<Request> again = maker_.again({.body = body, .seed = 9});
  EXPECT_EQ(again[0].prompt, (std::vector<int32_t>{'c', 'd', 'e', 'f'}));
  EXPECT_EQ(again[0].options.bad_words_ids, (std::vector<std::vector<int32_t>>{{'x', 'y'}}));
  EXPECT_EQ(again[0].priority, 3);
}

TEST_F(MakeRequests, TheEndOfAPromptIsKept) {
  EXPECT_EQ(prompt_of(R"("prompt": "abcd", "truncate_prompt_tokens": 3)"),
            (std::vector<int32_t>{'b', 'c', 'd'}));
  EXPECT_EQ(prompt_of(R"("prompt": [1, 2, 3], "truncate_prompt_tokens": 1)"), std::vector<int32_t>{3});
  EXPECT_EQ(prompt_of(R"("prompt": [1, 2, 3], "truncate_prompt_tokens": 3)").size(), 3U);
  EXPECT_EQ(prompt_of(R"("prompt": [1, 2, 3], "truncate_prompt_tokens": 9)").size(), 3U);
}

/// The last new token is never read.
TEST_F(MakeRequests, RoomIsLeftForNewTokens) {
  const std::string prompt = R"("prompt": ")" + std::string(50, 'a') + R"(", "truncate_prompt_tokens": -1)";
  for (const size_t fresh : {1U, 2U, 7U, 20U})
    EXPECT_EQ(prompt_of(prompt + R"(, "max_tokens": )" + std::to_string(fresh)).size(),
              kCapacity + 1 - fresh);
  EXPECT_EQ(prompt_of(prompt + R"(, "max_tokens": 0)").size(), kCapacity);
  EXPECT_EQ(prompt_of(prompt + R"(, "max_tokens": 90)").size(), 1U);
}

TEST_F(MakeRequests, BadWordsAreBoundedAndOfTexts) {
  const std::string word = '"' + std::string(256, 'w') + '"';
  std::string words = word;
  for (int i = 1; i < 16; ++i) words += "," + word;
  EXPECT_EQ(fault(maker_, R"("prompt": "a", "bad_words": [)" + words + "]"), "no ApiError");
  EXPECT_EQ(fault(maker_, R"("prompt": "a", "bad_words": [)" + words + R"(, "v"])"), "bad_words");
  EXPECT_EQ(fault(sources_, R"("prompt": "a", "bad_words": ["v"])"), "bad_words");
  EXPECT_EQ(fault(sources_, R"("prompt": "a", "truncate_prompt_tokens": 3)"), "truncate_prompt_tokens");
  const cli::PromptText none(cli::Model{}, kBytes - 1, false);
  EXPECT_EQ(fault(RequestMaker(none, "", false, kCapacity), R"("prompt": [1], "bad_words": ["v"])"),
            "bad_words");
}

}  // namespace
}  // namespace smelt::server
