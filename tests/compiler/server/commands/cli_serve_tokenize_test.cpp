// POST /tokenize and POST /detokenize.
#ifdef SMELT_SERVER
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

class TokenServer : public Server {
 protected:
  /// The tokens of the model are bytes, and its chat template writes roles and contents.
  void start_tokens(const std::vector<std::string>& options = {}) {
    const fs::path model = path("chatty");
    fs::create_directories(model);
    spill(model / "spec.json", kSlowModel);
    spill(model / "chat_template.jinja",
          "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
          "{% if add_generation_prompt %}<a>{% endif %}{{ tone }}");
    std::vector<std::string> all = {"--from-scratch", "--max", "T=256"};
    all.insert(all.end(), options.begin(), options.end());
    start(model.string(), all);
  }
  Json reply(const char* where, const Json& body) const {
    const auto result = post(body, where);
    EXPECT_EQ(result->status, 200) << result->body;
    return Json::parse(result->body);
  }
};

TEST_F(TokenServer, TokenizesTextsAndChats) {
  start_tokens();
  EXPECT_EQ(reply("/tokenize", {{"prompt", "ab"}, {"model", "chatty"}}),
            (Json{{"count", 2}, {"max_model_len", 256}, {"tokens", {97, 98}}, {"token_strs", nullptr}}));
  EXPECT_EQ(
      reply("/tokenize", {{"prompt", ""}, {"return_token_strs", true}}),
      (Json{{"count", 0}, {"max_model_len", 256}, {"tokens", Json::array()}, {"token_strs", Json::array()}}));
  const Json messages = {{{"role", "u"}, {"content", "x"}}};
  const Json chat = reply("/tokenize", {{"messages", messages},
                                        {"add_generation_prompt", false},
                                        {"chat_template_kwargs", {{"tone", "!"}}},
                                        {"return_token_strs", true}});
  EXPECT_EQ(chat["tokens"], (Json{'<', 'u', '>', 'x', '!'}));
  EXPECT_EQ(chat["token_strs"], (Json{"<", "u", ">", "x", "!"}));
  EXPECT_EQ(reply("/tokenize", {{"messages", messages}})["count"], 7);
}

TEST_F(TokenServer, DetokenizesWhatItTokenizes) {
  start_tokens();
  const std::string text = "a \u00e9 \u4e2d";
  const Json tokens = reply("/tokenize", {{"prompt", text}})["tokens"];
  EXPECT_EQ(reply("/detokenize", {{"tokens", tokens}}), (Json{{"prompt", text}}));
  EXPECT_EQ(reply("/detokenize", {{"tokens", Json::array()}})["prompt"], "");
}

TEST_F(TokenServer, RefusesByName) {
  start_tokens();
  EXPECT_EQ(fault("{}", "/tokenize"), "400 prompt");
  EXPECT_EQ(fault(R"({"prompt": [1]})", "/tokenize"), "400 prompt");
  EXPECT_EQ(fault(R"({"prompt": "a", "model": "other"})", "/tokenize"), "404 model");
  EXPECT_EQ(fault(R"({"prompt": "a", "max_tokens": 3})", "/tokenize"), "400 max_tokens");
  EXPECT_EQ(fault(R"({"prompt": "a", "return_token_strs": 1})", "/tokenize"), "400 return_token_strs");
  EXPECT_EQ(fault(R"({"prompt": "a", "messages": [{"role": "u"}]})", "/tokenize"), "400 prompt");
  EXPECT_EQ(fault(R"({"messages": [{"role": "u"}], "temperature": 1})", "/tokenize"), "400 temperature");
  EXPECT_EQ(fault("{}", "/detokenize"), "400 tokens");
  EXPECT_EQ(fault(R"({"tokens": [256]})", "/detokenize"), "400 tokens");
  EXPECT_EQ(fault(R"({"tokens": "a"})", "/detokenize"), "400 tokens");
  EXPECT_EQ(fault(R"({"tokens": [1], "prompt": "a"})", "/detokenize"), "400 prompt");
  EXPECT_EQ(client().get("/tokenize")->status, 405);
}

TEST_F(TokenServer, NeedsAKeyWhereThereAreKeys) {
  spill(path("keys"), "me sk-0123456789abcdef\n");
  start_tokens({"--api-keys", path("keys").string()});
  EXPECT_EQ(fault(R"({"prompt": "a"})", "/tokenize"), "401 ");
}

TEST_F(TokenServer, AModelWithoutATokenizerHasNoTexts) {
  start(kGolden.string());
  EXPECT_EQ(fault(R"({"prompt": "a"})", "/tokenize"), "400 prompt");
  EXPECT_EQ(fault(R"({"tokens": [1]})", "/detokenize"), "400 tokens");
}

}  // namespace
}  // namespace smelt::test
#endif
