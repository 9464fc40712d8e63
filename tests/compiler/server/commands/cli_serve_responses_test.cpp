// POST /v1/responses. The model is random, so biases of sequences make it write a text that is given.
#ifdef SMELT_SERVER
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

constexpr const char* kResponseTemplate =
    "{% if tools %}<tool_call>{\"name\": ...}</tool_call>{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for call in m.tool_calls %}"
    "[{{ call.function.name }} {{ call.function.arguments.city }}]{% endfor %}{% endfor %}<assistant>";

/// Returns biases that make the next byte after each place of the text probable, and then byte 0.
Json biases_to_write(const std::string& text) {
  constexpr size_t kContext = 24;
  const std::string begin = "<assistant>", all = begin + text + '\0';
  Json biases = Json::array();
  for (size_t i = begin.size(); i < all.size(); ++i) {
    Json ids = Json::array();
    for (size_t at = i - std::min(i, kContext); at <= i; ++at)
      ids.push_back(static_cast<unsigned char>(all[at]));
    biases.push_back({ids, 1000.0});
  }
  return biases;
}

class ResponseServer : public Server {
 protected:
  static constexpr const char* kPath = "/v1/responses";
  void SetUp() override {
    Server::SetUp();
    const fs::path model = path("responder");
    fs::create_directories(model);
    spill(model / "spec.json", kSlowModel);
    spill(model / "chat_template.jinja", kResponseTemplate);
    start(model.string(), {"--from-scratch", "--max", "T=1024"});
  }
  /// Returns the body of a request whose answer is this text.
  static Json body_for(const std::string& text) {
    return {{"input", "Hi"},         {"temperature", 0},     {"max_output_tokens", 200},
            {"stop_token_ids", {0}}, {"model", "responder"}, {"sequence_bias", biases_to_write(text)}};
  }
  static Json with(Json body, const Json& more) { return body.update(more), body; }
  Json respond(const Json& body) const {
    const auto result = post(body, kPath);
    if (result && result->status == 200) return Json::parse(result->body);
    ADD_FAILURE() << body << (result ? result->body : "no answer");
    return {{"output", Json::array()}};
  }
  /// Returns the events of a stream, after checks of their names and numbers.
  std::vector<Json> stream(const Json& body) const {
    std::vector<Json> events;
    std::istringstream text(post(with(body, {{"stream", true}}), kPath)->body);
    std::string name;
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with("event: ")) name = line.substr(7);
      if (!line.starts_with("data: ")) continue;
      events.push_back(Json::parse(line.substr(6)));
      EXPECT_EQ(events.back()["type"].get<std::string>(), name);
      EXPECT_EQ(events.back()["sequence_number"], events.size() - 1);
    }
    return events;
  }
  static std::vector<std::string> kinds(const std::vector<Json>& events) {
    std::vector<std::string> kinds;
    for (const Json& event : events)
      if (const auto type = event["type"].get<std::string>(); kinds.empty() || kinds.back() != type)
        kinds.push_back(type);
    return kinds;
  }
};

const Json kWeather = {{{"type", "function"},
                        {"name", "weather"},
                        {"parameters",
                         {{"type", "object"},
                          {"properties", {{"city", {{"enum", {"Bern"}}}}}},
                          {"required", {"city"}},
                          {"additionalProperties", false}}}}};

TEST_F(ResponseServer, AnswersAText) {
  const Json found =
      respond(with(body_for("Hello."), {{"instructions", "Be brief."}, {"metadata", {{"a", "b"}}}}));
  EXPECT_EQ(found["object"], "response");
  EXPECT_EQ(found["status"], "completed");
  EXPECT_TRUE(found["id"].get<std::string>().starts_with("resp-"));
  ASSERT_EQ(found["output"].size(), 1U);
  const Json& item = found["output"][0];
  EXPECT_EQ(item["type"], "message");
  EXPECT_EQ(item["role"], "assistant");
  EXPECT_EQ(item["content"][0]["type"], "output_text");
  EXPECT_EQ(item["content"][0]["text"], "Hello.");
  EXPECT_EQ(found["usage"]["input_tokens"], std::string("<system>Be brief.<user>Hi<assistant>").size());
  EXPECT_EQ(found["usage"]["output_tokens"], 7);
  EXPECT_EQ(found["instructions"], "Be brief.");
  EXPECT_EQ(found["metadata"]["a"], "b");
  EXPECT_EQ(found["store"], false);
}

TEST_F(ResponseServer, SaysThatAnAnswerWasCutOff) {
  const Json found = respond(with(body_for("Hello."), {{"max_output_tokens", 3}}));
  EXPECT_EQ(found["status"], "incomplete");
  EXPECT_EQ(found["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(found["output"][0]["content"][0]["text"], "Hel");
}

TEST_F(ResponseServer, ReadsAWholeConversation) {
  const Json input = {
      {{"role", "developer"}, {"content", "D"}},
      {{"type", "message"}, {"role", "user"}, {"content", {{{"type", "input_text"}, {"text", "U"}}}}},
      {{"type", "message"},
       {"id", "msg-1"},
       {"status", "completed"},
       {"role", "assistant"},
       {"content", {{{"type", "output_text"}, {"text", "A"}, {"annotations", Json::array()}}}}},
      {{"type", "function_call"}, {"call_id", "c"}, {"name", "f"}, {"arguments", "{\"city\": \"X\"}"}},
      {{"type", "function_call_output"}, {"call_id", "c"}, {"output", "R"}}};
  const Json found = respond(with(body_for("Yes"), {{"input", input}}));
  EXPECT_EQ(found["usage"]["input_tokens"],
            std::string("<system>D<user>U<assistant>A[f X]<tool>R<assistant>").size());
  EXPECT_EQ(found["output"][0]["content"][0]["text"], "Yes");
}

TEST_F(ResponseServer, StreamsTheEventsOfATextInOrder) {
  const Json body = body_for("Hello, world");
  const std::vector<Json> events = stream(body);
  EXPECT_EQ(kinds(events),
            (std::vector<std::string>{
                "response.created", "response.in_progress", "response.output_item.added",
                "response.content_part.added", "response.output_text.delta", "response.output_text.done",
                "response.content_part.done", "response.output_item.done", "response.completed"}));
  std::string text;
  for (const Json& event : events)
    if (event["type"] == "response.output_text.delta") text += event["delta"].get<std::string>();
  EXPECT_EQ(text, "Hello, world");
  const Json& last = events.back()["response"];
  EXPECT_EQ(last["output"][0]["content"][0]["text"], Json(text));
  EXPECT_EQ(last["usage"], respond(body)["usage"]);
  EXPECT_EQ(events.front()["response"]["status"], "in_progress");
}

TEST_F(ResponseServer, GivesCallsAsItems) {
  const Json body = with(
      body_for("See.\n<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Bern\"}}</tool_call>"),
      {{"tools", kWeather}});
  const Json found = respond(body);
  ASSERT_EQ(found["output"].size(), 2U);
  EXPECT_EQ(found["output"][0]["type"], "message");
  const Json& call = found["output"][1];
  EXPECT_EQ(call["type"], "function_call");
  EXPECT_EQ(call["name"], "weather");
  EXPECT_EQ(Json::parse(call["arguments"].get<std::string>()), (Json{{"city", "Bern"}}));
  EXPECT_TRUE(call["call_id"].get<std::string>().starts_with("call_"));
  EXPECT_EQ(found["tools"], kWeather);
  const std::vector<Json> events = stream(body);
  std::string arguments;
  for (const Json& event : events)
    if (event["type"] == "response.function_call_arguments.delta")
      arguments += event["delta"].get<std::string>();
  EXPECT_EQ(Json(arguments), call["arguments"]);
  EXPECT_EQ(kinds(events).back(), "response.completed");
  EXPECT_EQ(events.back()["response"]["output"][1]["arguments"], Json(arguments));
}

TEST_F(ResponseServer, CanRequireACallOrAForm) {
  const Json called =
      respond({{"input", "Hi"}, {"tools", kWeather}, {"tool_choice", "required"}, {"seed", 1}});
  EXPECT_EQ(called["output"][0]["type"], "function_call");
  EXPECT_EQ(Json::parse(called["output"][0]["arguments"].get<std::string>()), (Json{{"city", "Bern"}}));
  const Json named = respond({{"input", "Hi"},
                              {"tools", kWeather},
                              {"tool_choice", {{"type", "function"}, {"name", "weather"}}},
                              {"seed", 1}});
  EXPECT_EQ(named["output"][0]["name"], "weather");
  const Json schema = {{"type", "object"},
                       {"properties", {{"n", {{"enum", {7}}}}}},
                       {"required", {"n"}},
                       {"additionalProperties", false}};
  const Json formed = respond(
      {{"input", "Hi"},
       {"text", {{"format", {{"type", "json_schema"}, {"name", "s"}, {"schema", schema}, {"strict", true}}}}},
       {"seed", 1}});
  EXPECT_EQ(Json::parse(formed["output"][0]["content"][0]["text"].get<std::string>()), (Json{{"n", 7}}));
}

TEST_F(ResponseServer, RefusesByName) {
  const auto fault_with = [&](Json more) { return fault(with({{"input", "Hi"}}, more).dump(), kPath); };
  EXPECT_EQ(fault("{}", kPath), "400 input");
  EXPECT_EQ(fault_with({{"previous_response_id", "resp-1"}}), "400 previous_response_id");
  EXPECT_EQ(fault_with({{"store", true}}), "400 store");
  EXPECT_EQ(fault_with({{"background", true}}), "400 background");
  EXPECT_EQ(fault_with({{"reasoning", {{"effort", "low"}}}}), "400 reasoning");
  EXPECT_EQ(fault_with({{"include", {"reasoning.encrypted_content"}}}), "400 include");
  EXPECT_EQ(fault_with({{"n", 2}}), "400 n");
  EXPECT_EQ(fault_with({{"messages", Json::array()}}), "400 messages");
  EXPECT_EQ(fault_with({{"max_output_tokens", 0}}), "400 max_output_tokens");
  EXPECT_EQ(fault_with({{"tools", {{{"type", "web_search"}}}}}), "400 tools");
  EXPECT_EQ(fault_with({{"text", {{"verbosity", "low"}}}}), "400 text");
  EXPECT_EQ(fault_with({{"unknown", 1}}), "400 unknown");
  EXPECT_EQ(fault_with({{"model", "other"}}), "404 model");
  EXPECT_EQ(fault_with({{"input", {{{"type", "reasoning"}}}}}), "400 input");
  EXPECT_EQ(fault_with({{"input", {{{"role", "user"}, {"content", {{{"type", "input_image"}}}}}}}}),
            "400 input");
  EXPECT_EQ(fault_with({{"store", false}, {"truncation", "disabled"}, {"temperature", 3}}),
            "400 temperature");
}

}  // namespace
}  // namespace smelt::test
#endif
