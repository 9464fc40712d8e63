// Beam searches over HTTP: the fields that ask for them, and what they refuse.
#ifdef SMELT_SERVER
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

class BeamServer : public Server {
 protected:
  /// Returns the sequences that `smelt generate` finds, one object each.
  std::vector<Json> generated(const std::string& model, const std::string& options) const {
    std::istringstream lines(smelt("generate " + model + " --json --num-beams 4 " + options).out);
    std::vector<Json> found;
    for (std::string line; std::getline(lines, line);) found.push_back(Json::parse(line));
    return found;
  }
  void expect_same(const Json& choices, const std::vector<Json>& expected) const {
    ASSERT_EQ(choices.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(choices[i]["index"], i);
      EXPECT_EQ(choices[i]["token_ids"], expected[i]["new_ids"]);
      EXPECT_NEAR(choices[i]["score"].get<float>(), expected[i]["score"].get<float>(), 1e-5);
    }
  }
  std::string source_model() const { return (kGolden.parent_path() / "t5-gated").string(); }
};

TEST_F(BeamServer, GivesWhatGenerateGives) {
  const std::string length = " --num-return-sequences 3 --max-new-tokens 9 --length-penalty 0.5",
                    ids = " --ids '3 1 4 9 5'";
  const std::pair<std::string, const char*> cases[] = {{kGolden.string(), "--no-sampler"},
                                                       {source_model(), "--no-sampler"},
                                                       {kGolden.string(), "--sampler"},
                                                       {source_model(), "--sampler"}};
  for (const auto& [model, sampler] : cases) {
    const std::vector<Json> expected = generated(model, length + ids);
    start(model, {"--slots", "6", sampler});
    Json body = {
        {"prompt", {3, 1, 4, 9, 5}}, {"max_tokens", 9}, {"use_beam_search", true}, {"n", 3}, {"best_of", 4},
        {"length_penalty", 0.5},     {"temperature", 0}};
    const Json found = completion(body);
    expect_same(found["choices"], expected);
    size_t tokens = 0;
    for (const Json& each : expected) tokens += each["new_ids"].size();
    EXPECT_EQ(found["usage"]["completion_tokens"], tokens);
    body.erase("best_of"), body["beam_width"] = 4, body["prompt"] = {{3, 1, 4, 9, 5}, {3, 1, 4, 9, 5}};
    const Json twice = completion(body)["choices"];
    ASSERT_EQ(twice.size(), 6U);
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(twice[i]["token_ids"], expected[i % 3]["new_ids"]);
    EXPECT_EQ(end(SIGINT), 0) << slurp(path("err.txt"));
  }
}

TEST_F(BeamServer, HasTextsAndEchoes) {
  start_slow({"--slots", "4"});
  const Json body = {
      {"prompt", "ab"}, {"max_tokens", 6}, {"use_beam_search", true}, {"n", 2}, {"echo", true}};
  const Json choices = completion(body)["choices"];
  ASSERT_EQ(choices.size(), 2U);
  for (const Json& choice : choices) {
    EXPECT_TRUE(choice["text"].get<std::string>().starts_with("ab"));
    EXPECT_GT(choice["text"].get<std::string>().size(), 2U);
  }
}

TEST_F(BeamServer, RefusesByName) {
  start(kGolden.string(), {"--slots", "4"});
  const auto refusal = [&](const std::string& fields) {
    return fault(R"({"prompt": [1], "use_beam_search": true, )" + fields + "}");
  };
  EXPECT_EQ(refusal(R"("n": 1)"), "400 use_beam_search");
  EXPECT_EQ(refusal(R"("best_of": 3, "beam_width": 2)"), "400 beam_width");
  EXPECT_EQ(refusal(R"("n": 3, "beam_width": 2)"), "400 n");
  EXPECT_EQ(refusal(R"("beam_width": 65)"), "400 beam_width");
  EXPECT_EQ(refusal(R"("n": 2, "stream": true)"), "400 stream");
  EXPECT_EQ(refusal(R"("n": 2, "logprobs": 1)"), "400 logprobs");
  EXPECT_EQ(refusal(R"("n": 2, "prompt_logprobs": 1)"), "400 prompt_logprobs");
  EXPECT_EQ(refusal(R"("n": 2, "stop": "a")"), "400 stop");
  EXPECT_EQ(refusal(R"("n": 2, "temperature": 0.5)"), "400 temperature");
  EXPECT_EQ(refusal(R"("n": 2, "top_p": 0.5)"), "400 top_p");
  EXPECT_EQ(refusal(R"("n": 2, "guided_regex": "a")"), "400 guided_regex");
  EXPECT_EQ(refusal(R"("n": 2, "early_stopping": "always")"), "400 early_stopping");
  EXPECT_EQ(refusal(R"("n": 2, "max_tokens": 0)"), "400 max_tokens");
  EXPECT_EQ(refusal(R"("beam_width": 5)"), "400 beam_width");
  EXPECT_EQ(refusal(R"("n": 2, "num_beam_groups": 2)"), "400 num_beam_groups");
  EXPECT_EQ(fault(R"({"prompt": [1], "length_penalty": 1})"), "400 length_penalty");
  EXPECT_EQ(fault(R"({"prompt": [1], "use_beam_search": 1})"), "400 use_beam_search");
  EXPECT_EQ(end(SIGINT), 0) << slurp(path("err.txt"));
}

/// The slots of a search whose client has gone are free.
TEST_F(BeamServer, ForgetsClientsThatLeave) {
  start_slow({"--slots", "4"});
  {
    const Connection connection(std::stoi(url().substr(url().rfind(':') + 1)));
    const Json body = {{"prompt", "a"}, {"max_tokens", 3000}, {"use_beam_search", true}, {"n", 4}};
    connection.send(client().post_text("/v1/completions", body.dump()));
    while (!has(client().get("/metrics")->body, "smelt_requests_running 1")) continue;
  }
  while (!has(client().get("/metrics")->body, "smelt_requests_total{end=\"cancelled\"} 1")) continue;
  EXPECT_EQ(completion({{"prompt", "a"}, {"max_tokens", 2}, {"temperature", 0}})["choices"].size(), 1U);
}

}  // namespace
}  // namespace smelt::test
#endif
