// Fields of requests that vLLM's clients send.
#ifdef SMELT_SERVER
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

constexpr int kBegin = 96, kEnd = 97;  // special tokens

/// Returns a tokenizer with a token for each printable character of ASCII, from id 0 on, a token for " b"
/// (95), and the special tokens <s> (96), which begins each text, and </s> (97).
std::string tokenizer_of_characters() {
  Json vocabulary, added = Json::array();
  for (char c = ' '; c <= '~'; ++c) vocabulary[std::string(1, c)] = c - ' ';
  vocabulary[" b"] = kBegin - 1;
  for (const auto& [name, id] : {std::pair("<s>", kBegin), {"</s>", kEnd}}) {
    vocabulary[name] = id;
    added.push_back({{"id", id}, {"content", name}, {"special", true}, {"normalized", false}});
  }
  const Json begin = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const auto sequence = [](const char* name) { return Json{{"Sequence", {{"id", name}, {"type_id", 0}}}}; };
  return Json{
      {"version", "1.0"},
      {"added_tokens", added},
      {"decoder", {{"type", "Fuse"}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", {begin, sequence("A")}},
        {"pair", {begin, sequence("A"), sequence("B")}},
        {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {kBegin}}, {"tokens", {"<s>"}}}}}}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array({Json::array({" ", "b"})})}}}}
      .dump();
}

class FieldServer : public Server {
 protected:
  /// `own`: further members of the model's description.
  void start_fields(const std::vector<std::string>& more = {"--max", "T=64"},
                    const Json& own = Json::object()) {
    const fs::path model = path("fields");
    fs::create_directories(model);
    spill(model / "spec.json", with(Json::parse(kSlowModel), own).dump());
    spill(model / "tokenizer.json", tokenizer_of_characters());
    spill(model / "chat_template.jinja", "{{ messages[0].content }}");
    std::vector<std::string> options = {"--from-scratch"};
    options.insert(options.end(), more.begin(), more.end());
    start(model.string(), options);
  }
  static Json with(Json body, const Json& more) { return body.update(more), body; }
  Json choice(const Json& body) const { return completion(body)["choices"][0]; }
  std::string text(const Json& body) const { return choice(body).value("text", "none"); }

  /// Draws letters. The tokens of the answer are its characters.
  static Json letters(int seed) {
    Json ids = Json::array();
    for (const char c : std::string("abcdefgh")) ids.push_back(c - ' ');
    return {{"prompt", "x"}, {"seed", seed}, {"max_tokens", 40}, {"allowed_token_ids", ids}};
  }
};

TEST_F(FieldServer, OnlyAllowedTokensAndNoBadWordsCome) {
  start_fields();
  const Json body = with(letters(1), {{"allowed_token_ids", {'a' - ' ', 'b' - ' ', kBegin - 1}}});
  const std::string all = text(body);
  EXPECT_EQ(all.find_first_not_of("ab "), std::string::npos) << all;
  EXPECT_TRUE(has(all, " b") && has(all, "ab")) << all;
  EXPECT_EQ(text(with(body, {{"bad_words", {"b"}}})), std::string(40, 'a')) << "also after a space";
  EXPECT_FALSE(has(text(with(body, {{"bad_words", {"ab"}}})), "ab"));
  EXPECT_EQ(fault(R"({"prompt": "a", "allowed_token_ids": [256]})"), "400 ");
  EXPECT_EQ(fault(R"({"prompt": "a", "allowed_token_ids": []})"), "400 allowed_token_ids");
}

TEST_F(FieldServer, StopTextsCountAfterTheLeastTokens) {
  start_fields();
  for (int seed = 0; seed < 5; ++seed) {
    const std::string all = text(letters(seed));
    const Json stop = {{"stop", all.substr(2, 1)}, {"min_tokens", 9}};
    const size_t at = all.find(all[2], 9);
    ASSERT_NE(at, std::string::npos) << all;
    EXPECT_EQ(text(with(letters(seed), stop)), all.substr(0, at));
    EXPECT_EQ(text(with(letters(seed), with(stop, {{"include_stop_str_in_output", true}}))),
              all.substr(0, at + 1));
    EXPECT_EQ(text(with(letters(seed), {{"stop", all.substr(2, 1)}})), all.substr(0, all.find(all[2])));
  }
}

TEST_F(FieldServer, EndTokensCountAfterTheLeastTokensIfAtAll) {
  start_fields();
  const Json ends = with(letters(3), {{"allowed_token_ids", {'a' - ' ', kEnd}}, {"eos_token_id", kEnd}});
  const Json least = choice(with(ends, {{"min_tokens", 12}}));
  EXPECT_GT(least["token_ids"].size(), 12U);
  EXPECT_EQ(least["finish_reason"], "stop");
  const Json shown = with(ends, {{"include_stop_str_in_output", true}, {"skip_special_tokens", false}});
  const std::string end = text(shown);
  EXPECT_TRUE(end.ends_with("</s>")) << end;
  EXPECT_EQ(text(with(shown, {{"include_stop_str_in_output", false}})), end.substr(0, end.size() - 4));
  Json ignored = with(ends, {{"ignore_eos", true}, {"stop_token_ids", {kEnd}}});
  EXPECT_EQ(fault(ignored.dump()), "400 ignore_eos");
  ignored.erase("eos_token_id");
  EXPECT_EQ(choice(ignored)["finish_reason"], "stop") << "by stop_token_ids";
}

TEST_F(FieldServer, ModelsEndsAreIgnoredIfWanted) {
  start_fields({"--max", "T=64"}, {{"tokens", {{"eos", {kEnd}}}}});
  Json body = with(letters(3), {{"allowed_token_ids", {'a' - ' ', kEnd}}});
  EXPECT_EQ(choice(body)["finish_reason"], "stop");
  const Json all = choice(with(body, {{"ignore_eos", true}, {"skip_special_tokens", false}}));
  EXPECT_EQ(all["finish_reason"], "length");
  EXPECT_EQ(all["token_ids"].size(), 40U);
  EXPECT_TRUE(has(all["text"], "</s>a")) << all;
  EXPECT_FALSE(has(text(with(body, {{"ignore_eos", true}})), "<"));
}

TEST_F(FieldServer, PromptsAreTruncatedAtTheirBeginning) {
  start_fields();
  const Json body = {{"prompt", "abcdefgh"}, {"max_tokens", 6}, {"seed", 2}, {"echo", true}};
  const Json three = completion(with(body, {{"truncate_prompt_tokens", 3}}));
  EXPECT_EQ(three["usage"]["prompt_tokens"], 3);
  const std::string text = three["choices"][0]["text"];
  EXPECT_TRUE(text.starts_with("gh")) << text << ": the first token is <s>";
  EXPECT_EQ(three["choices"][0]["token_ids"],
            choice(with(body, {{"prompt", {kBegin, 'g' - ' ', 'h' - ' '}}}))["token_ids"]);
  const Json bare = {{"add_special_tokens", false}, {"truncate_prompt_tokens", 3}};
  EXPECT_TRUE(has(choice(with(body, bare))["text"], "fgh"));
  const Json most = with(body, {{"prompt", std::string(99, 'a')}, {"truncate_prompt_tokens", -1}});
  EXPECT_EQ(completion(most)["usage"]["prompt_tokens"], 64 + 1 - 6);
  EXPECT_EQ(fault(R"({"prompt": "a", "truncate_prompt_tokens": 0})"), "400 truncate_prompt_tokens");
}

TEST_F(FieldServer, ChatsHaveTheSameFields) {
  start_fields();
  constexpr const char* kPath = "/v1/chat/completions";
  const Json body = {{"messages", {{{"role", "user"}, {"content", "abcdefgh"}}}}, {"seed", 4}};
  const auto usage = [&](const Json& more) {
    const auto result = post(with(body, more), kPath);
    EXPECT_EQ(result->status, 200) << result->body;
    return Json::parse(result->body)["usage"];
  };
  EXPECT_EQ(usage({{"max_tokens", 2}})["prompt_tokens"], 8);
  EXPECT_EQ(usage({{"max_tokens", 2}, {"add_special_tokens", true}})["prompt_tokens"], 9);
  for (const bool adds : {false, true})
    EXPECT_EQ(usage({{"add_special_tokens", adds}, {"truncate_prompt_tokens", 5}}),
              (Json{{"prompt_tokens", 5}, {"completion_tokens", 60}, {"total_tokens", 65}}));
  EXPECT_EQ(usage({{"add_special_tokens", true}})["total_tokens"], 65);
  EXPECT_EQ(usage({{"max_tokens", 2}, {"n", 2}, {"best_of", 4}})["completion_tokens"], 8);
  EXPECT_EQ(fault(with(body, {{"truncate_prompt_tokens", -1}}).dump(), kPath), "400 truncate_prompt_tokens");
  EXPECT_EQ(fault(with(body, {{"min_tokens", 58}}).dump(), kPath), "400 min_tokens");
  EXPECT_EQ(usage({{"min_tokens", 57}})["total_tokens"], 65);
}

TEST_F(FieldServer, PrioritiesNeedTheOption) {
  start_fields();
  EXPECT_EQ(fault(R"({"prompt": "a", "priority": 1})"), "400 priority");
  EXPECT_EQ(choice({{"prompt", "a"}, {"priority", 0}})["finish_reason"], "length");
}

/// One request runs. Of those that wait, the one that came last begins first.
TEST_F(FieldServer, PrioritiesOrderTheQueue) {
  start_fields({"--priorities", "--slots", "1", "--max", "T=4096"});
  const auto answer = [&](const char* prompt, int tokens, int priority) {
    return std::async(std::launch::async, [=, this] {
      completion({{"prompt", prompt}, {"max_tokens", tokens}, {"priority", priority}, {"seed", 1}});
      return std::chrono::steady_clock::now();
    });
  };
  auto running = answer("a", 400, 0);
  ASSERT_TRUE(comes_to("requests_running", 1));
  auto later = answer("b", 200, 5);
  ASSERT_TRUE(comes_to("requests_waiting", 1));
  auto sooner = answer("c", 2, -5);
  ASSERT_TRUE(comes_to("requests_waiting", 2));
  EXPECT_LT(sooner.get(), later.get());
  running.get();
}

}  // namespace
}  // namespace smelt::test
#endif
