// Structured output of `smelt serve`: every text that comes back satisfies what the request specifies.
#ifdef SMELT_SERVER
#include <future>
#include <regex>

#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

class StructuredServer : public Server {
 protected:
  void SetUp() override {
    Server::SetUp();
    start_slow({"--slots", "4"});
  }
  Json choice(Json body) const {
    body["prompt"] = "hi";
    if (!body.contains("max_tokens")) body["max_tokens"] = 300;
    return completion(body)["choices"][0];
  }
};

TEST_F(StructuredServer, ObjectsSatisfyTheirSchema) {
  const Json schema = Json::parse(R"({"type": "object", "additionalProperties": false,
      "properties": {"name": {"type": "string", "pattern": "^[a-z]{1,6}$"},
                     "age": {"type": "integer", "minimum": 0, "maximum": 120},
                     "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2}},
      "required": ["name", "age", "tags"]})");
  for (int seed = 0; seed < 6; ++seed) {
    const Json found =
        choice({{"seed", seed},
                {"response_format",
                 {{"type", "json_schema"}, {"json_schema", {{"name", "n"}, {"schema", schema}}}}}});
    EXPECT_EQ(found["finish_reason"], "stop");
    const Json value = Json::parse(found["text"].get<std::string>(), nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(value.is_object()) << found["text"];
    EXPECT_EQ(value.size(), 3U);
    EXPECT_TRUE(std::regex_match(value["name"].get<std::string>(), std::regex("[a-z]{1,6}")));
    EXPECT_LE(value["age"].get<int>(), 120);
    EXPECT_LE(value["tags"].size(), 2U);
  }
}

TEST_F(StructuredServer, ManyAtOnceHaveTheirOwn) {
  std::vector<std::future<std::string>> texts;
  for (int i = 0; i < 8; ++i)
    texts.push_back(std::async(std::launch::async, [this, i]() -> std::string {
      const std::string expression = std::string(1, static_cast<char>('a' + i)) + "{5}(x|y)";
      return choice({{"seed", i}, {"structured_outputs", {{"regex", expression}}}})["text"];
    }));
  const Json free = choice({{"seed", 1}, {"max_tokens", 20}});
  EXPECT_EQ(free["token_ids"].size(), 20U);
  for (int i = 0; i < 8; ++i) {
    const std::string text = texts[static_cast<size_t>(i)].get(), same(5, static_cast<char>('a' + i));
    EXPECT_TRUE(text == same + "x" || text == same + "y") << text;
  }
}

TEST_F(StructuredServer, TextsEndWhereNothingCanFollow) {
  const Json found = choice({{"seed", 3}, {"guided_choice", {"yes", "no"}}, {"logprobs", 2}});
  EXPECT_TRUE(found["text"] == "yes" || found["text"] == "no") << found["text"];
  EXPECT_EQ(found["finish_reason"], "stop");
  EXPECT_EQ(found["logprobs"]["top_logprobs"].size(), found["token_ids"].size());
  EXPECT_EQ(choice({{"seed", 3}, {"guided_regex", "a+"}, {"max_tokens", 7}})["text"], "aaaaaaa");
  EXPECT_EQ(
      choice(
          {{"seed", 3}, {"guided_grammar", "root ::= \"x\" [0-4] root | \"end\""}, {"max_tokens", 2}})["text"]
          .get<std::string>()
          .size(),
      2U);
}

TEST_F(StructuredServer, WhatCannotBeSpecifiedIsRefused) {
  const auto refused = [&](Json body) {
    body["prompt"] = "a";
    return fault(body.dump());
  };
  EXPECT_EQ(refused({{"response_format", {{"type", "yaml"}}}}), "400 response_format");
  EXPECT_EQ(refused({{"guided_regex", "("}}), "400 guided_regex");
  EXPECT_EQ(refused({{"guided_regex", "a"}, {"guided_choice", {"a"}}}), "400 guided_choice");
  EXPECT_EQ(refused({{"guided_json", {{"type", "object"}, {"not", Json::object()}}}}), "400 guided_json");
  // The options ban the one token that may come.
  EXPECT_EQ(refused({{"guided_regex", "a"}, {"suppress_tokens", {97}}}), "400 ");
}

}  // namespace
}  // namespace smelt::test
#endif
