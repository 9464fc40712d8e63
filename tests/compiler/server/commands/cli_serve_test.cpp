// What clients of `smelt serve` get, and what becomes of those that misbehave.
#ifdef SMELT_SERVER
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

TEST_F(Server, GivesWhatGenerateGives) {
  const Outcome generated = smelt("generate $GOLDEN --ids '3 1 4 1 5' --max-new-tokens 8");
  start(kGolden.string());
  const Json body = {{"prompt", {3, 1, 4, 1, 5}}, {"max_tokens", 8}, {"temperature", 0}, {"model", "gpt2"}};
  const Json found = completion(body);
  std::string ids = "3 1 4 1 5";
  for (const Json& id : found["choices"][0]["token_ids"]) ids += " " + id.dump();
  EXPECT_TRUE(has(generated.out, ids)) << generated.out << ids;
  EXPECT_EQ(found["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(found["usage"], (Json{{"prompt_tokens", 5}, {"completion_tokens", 8}, {"total_tokens", 13}}));
  EXPECT_EQ(Json::parse(client().get("/v1/models")->body)["data"][0]["id"], "gpt2");
  EXPECT_TRUE(has(client().get("/")->body, "/v1/completions"));
  EXPECT_EQ(client().get("/health")->body, R"({"status":"ok"})");
  EXPECT_EQ(end(SIGINT), 0) << slurp(path("err.txt"));
}

TEST_F(Server, StreamsWhatItGivesAtOnce) {
  start_slow();
  Json body = {{"prompt", "ab"}, {"max_tokens", 40}, {"seed", 5},  {"n", 2},
               {"echo", true},   {"stop", "\x03"},   {"top_k", 40}};
  const Json whole = completion(body)["choices"];
  body["stream"] = true, body["stream_options"] = {{"include_usage", true}};
  Json joined = Json::array({{{"token_ids", Json::array()}}, {{"token_ids", Json::array()}}});
  std::vector<std::string> events = this->events(body);
  ASSERT_GE(events.size(), 4U);
  EXPECT_EQ(events.back(), "[DONE]");
  events.pop_back();
  EXPECT_GT(Json::parse(events.back())["usage"]["completion_tokens"], 2);
  events.pop_back();
  for (const std::string& event : events) {
    const Json choice = Json::parse(event)["choices"][0];
    Json& all = joined[choice["index"].get<size_t>()];
    for (const Json& id : choice["token_ids"]) all["token_ids"].push_back(id);
    all["finish_reason"] = choice["finish_reason"];
  }
  ASSERT_EQ(whole.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(joined[i]["token_ids"], whole[i]["token_ids"]);
    EXPECT_EQ(joined[i]["finish_reason"], whole[i]["finish_reason"]);
    EXPECT_TRUE(whole[i]["text"].get<std::string>().starts_with("ab"));
  }
  EXPECT_NE(whole[0]["token_ids"], whole[1]["token_ids"]);
}

TEST_F(Server, StreamsOfBytesHaveWholeCharacters) {
  start_slow();
  // Two bytes of a character of two bytes, in an order that is drawn: some pairs are characters.
  Json body = {
      {"prompt", "a"}, {"max_tokens", 48}, {"seed", 3}, {"logit_bias", {{"195", 100}, {"169", 100}}}};
  const std::string whole = completion(body)["choices"][0]["text"];
  EXPECT_TRUE(has(whole, "\u00e9") && has(whole, "\uFFFD")) << whole;
  body["stream"] = true;
  std::string joined;
  for (const std::string& event : events(body))
    if (event != "[DONE]") joined += Json::parse(event)["choices"][0]["text"].get<std::string>();
  EXPECT_EQ(joined, whole);
}

TEST_F(Server, ErrorsHaveTheApisShape) {
  start(kGolden.string());
  EXPECT_EQ(fault("{"), "400 ");
  EXPECT_EQ(fault(std::string(100000, '[')), "400 ");
  EXPECT_EQ(fault(R"({"prompt": "no tokenizer"})"), "400 prompt");
  EXPECT_EQ(fault(R"({"prompt": [1], "tools": []})"), "400 tools");
  EXPECT_EQ(fault(R"({"prompt": [1], "model": "other"})"), "404 model");
  EXPECT_EQ(fault(R"({"prompt": [1], "max_tokens": 100000})"), "400 ");
  EXPECT_EQ(fault(R"({"prompt": [1], "suppress_tokens": [9999]})"), "400 ");
  for (const char* name : {"eos_token_id", "stop_token_ids", "forced_eos_token_id", "begin_suppress_tokens"})
    EXPECT_EQ(fault(Json{{"prompt", {1}}, {name, {2000000000}}, {"min_new_tokens", 2}}.dump()), "400 ")
        << name;
  EXPECT_EQ(fault(R"({"prompt": [9999]})"), "400 ");
  EXPECT_EQ(fault(std::string(5 << 20, ' ')), "413 ");
  EXPECT_EQ(fault(R"({"messages": []})", "/v1/chat/completions"), "400 messages");
  EXPECT_EQ(fault("{}", "/v1/embeddings"), "404 ");
  const std::string head = this->head("POST", "/v1/completions") + "Content-Length: 99\r\n\r\n";
  raw(head + "{\"prompt\":", true);  // cut off
  EXPECT_TRUE(
      raw(head + "{\"prompt\":", false).starts_with("HTTP/1.1 400"));  // and then nothing, for seconds
  EXPECT_TRUE(raw("nonsense\r\n\r\n", false).starts_with("HTTP/1.1 400"));
  EXPECT_EQ(completion({{"prompt", {1}}, {"max_tokens", 2}})["choices"].size(), 1U);
}

TEST_F(Server, FiftyAtOnceGetWhatEachGetsAlone) {
  start_slow({"--slots", "5", "--chunk", "16", "--cache-pages", "0"});
  std::vector<Json> bodies;
  for (int i = 0; i < 50; ++i)
    bodies.push_back(
        {{"prompt", std::string(static_cast<size_t>(1 + i * 7 % 60), static_cast<char>('a' + i % 26))},
         {"max_tokens", 3 + i % 20},
         {"seed", i},
         {"top_p", 0.9},
         {"logprobs", 1},
         {"temperature", i % 3}});
  std::vector<std::future<Json>> together;
  for (const Json& body : bodies)
    together.push_back(std::async(std::launch::async, [&, body] { return completion(body); }));
  std::vector<Json> found;
  for (auto& each : together) found.push_back(each.get());
  for (size_t i = 0; i < bodies.size(); ++i)
    EXPECT_EQ(found[i]["choices"], completion(bodies[i])["choices"]) << bodies[i] << found[i];
  EXPECT_TRUE(comes_to("requests_running", 0)) << client().get("/metrics")->body;
  EXPECT_EQ(metric("requests_total{end=\"finished\"}"), 100);
}

TEST_F(Server, ClientsThatGoAwayLeaveNoSlotTaken) {
  start_slow({"--slots", "3", "--cache-pages", "0"});
  leave_streams(12);
  EXPECT_TRUE(comes_to("requests_total{end=\"cancelled\"}", 12)) << client().get("/metrics")->body;
  EXPECT_TRUE(comes_to("requests_running", 0)) << client().get("/metrics")->body;
  EXPECT_EQ(metric("requests_waiting"), 0);
  EXPECT_EQ(completion({{"prompt", "a"}, {"max_tokens", 2}})["choices"].size(), 1U);
}

TEST_F(Server, RefusesWhatTheQueueCannotHoldAndEndsWhileItStreams) {
  start_slow({"--slots", "1", "--queue", "1"});
  EXPECT_EQ(fault(R"({"prompt": "a", "n": 3})"), "400 n") << "which no later time would take";
  const Json body = {{"prompt", "a"}, {"max_tokens", 4000}, {"stream", true}, {"seed", 1}};
  std::vector<std::future<void>> streams;
  const auto stream = [&] { post(body); };
  streams.push_back(std::async(std::launch::async, stream));
  ASSERT_TRUE(comes_to("requests_running", 1));
  streams.push_back(std::async(std::launch::async, stream));
  ASSERT_TRUE(comes_to("requests_waiting", 1));
  const auto refused = post({{"prompt", "a"}});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->field("retry-after"), "1");
  EXPECT_TRUE(has(refused->body, "1 requests run and 1 wait")) << refused->body;
  EXPECT_EQ(end(SIGTERM), 0) << slurp(path("err.txt"));
  for (auto& each : streams) each.get();
}

TEST_F(Server, SaysWhatItCannotServe) {
  expect_error(smelt("serve $GOLDEN --port 0 --slots 33"), "33 slots: expected at most 32");
  expect_error(smelt("serve $GOLDEN --port 0 --host 203.0.113.1"), "cannot be listened at");
}

TEST_F(Server, OpenAIsClientWorks) {
  if (shell("python3 -c 'import openai'").status != 0) GTEST_SKIP() << "python3 has no package openai";
  start_slow();
  const std::string script = (fs::path(SMELT_SOURCE_DIR) / "tests/python/check_openai_client.py").string();
  const Outcome outcome = shell("python3 '" + script + "' " + url());
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

}  // namespace
}  // namespace smelt::test
#endif
