// Calls of tools over HTTP. The model is random, so biases of sequences make it write a text that is given.
#ifdef SMELT_SERVER
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

constexpr const char* kHermesTemplate =
    "{% if tools %}{{ tools | tojson }}\nCalls: <tool_call>{\"name\": ..., \"arguments\": ...}</tool_call>{% "
    "endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for call in m.tool_calls %}"
    "<tool_call>{{ call.function.name }} {{ call.function.arguments.city }}</tool_call>{% endfor %}\n{% "
    "endfor %}"
    "<assistant>";
constexpr const char* kMistralTemplate =
    "{% for m in messages %}{{ m.content }}{% if m.tool_calls %}[TOOL_CALLS]{% endif %}{% endfor "
    "%}<assistant>";
constexpr const char* kPlainTemplate = "{% for m in messages %}{{ m.content }}{% endfor %}<assistant>";

constexpr const char* kCalls =
    "See.\n<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Zürich\"}}</tool_call>\n"
    "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>";

/// Returns biases that make the next byte after each place of the text probable, and then byte 0.
Json biases_for(const std::string& text) {
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

class ToolServer : public Server {
 protected:
  void start_with(const std::string& chat_template, const std::vector<std::string>& more = {}) {
    const fs::path model = path("caller");
    fs::create_directories(model);
    spill(model / "spec.json", kSlowModel);
    spill(model / "chat_template.jinja", chat_template);
    std::vector<std::string> options = {"--from-scratch", "--max", "T=1024"};
    options.insert(options.end(), more.begin(), more.end());
    start(model.string(), options);
  }
  static Json tools() {
    return Json::array(
        {{{"type", "function"}, {"function", {{"name", "weather"}, {"parameters", {{"type", "object"}}}}}}});
  }
  /// Returns the body of a chat whose answer is this text.
  static Json body_for(const std::string& text) {
    return {{"messages", {{{"role", "user"}, {"content", "Hi"}}}},
            {"tools", tools()},
            {"temperature", 0},
            {"max_tokens", 250},
            {"stop_token_ids", {0}},
            {"sequence_bias", biases_for(text)}};
  }
  static Json with(Json body, const Json& more) { return body.update(more), body; }
  static constexpr const char* kPath = "/v1/chat/completions";
  Json choice(const Json& body, size_t index = 0) const {
    const auto result = post(body, kPath);
    if (result && result->status == 200) return Json::parse(result->body)["choices"][index];
    ADD_FAILURE() << (result ? result->body : "no answer");
    return {{"message", Json::object()}, {"finish_reason", nullptr}};
  }
  /// Returns the choices of all events of a stream.
  std::vector<Json> events_of(const Json& body) const {
    std::vector<Json> choices;
    std::istringstream text(post(with(body, {{"stream", true}}), kPath)->body);
    for (std::string line; std::getline(text, line);)
      if (line.starts_with("data: {")) choices.push_back(Json::parse(line.substr(6))["choices"][0]);
    return choices;
  }
};

/// Returns "name(arguments)" of each call.
std::string text_of(const Json& calls) {
  std::string text;
  for (const Json& call : calls)
    text += call["function"]["name"].get<std::string>() + "(" +
            call["function"]["arguments"].get<std::string>() + ")";
  return text;
}

TEST_F(ToolServer, GivesCalls) {
  start_with(kHermesTemplate);
  const Json found = choice(body_for(kCalls));
  const Json& message = found["message"];
  EXPECT_EQ(found["finish_reason"], "tool_calls");
  EXPECT_EQ(message["content"], "See.");
  EXPECT_EQ(text_of(message["tool_calls"]), "weather({\"city\": \"Zürich\"})now({})");
  EXPECT_TRUE(message["tool_calls"][0]["id"].get<std::string>().starts_with("call_"));
  EXPECT_NE(message["tool_calls"][0]["id"], message["tool_calls"][1]["id"]);
  EXPECT_EQ(message["tool_calls"][0]["type"], "function");
  const Json other = choice(with(body_for(kCalls), {{"n", 2}}), 1)["message"]["tool_calls"];
  EXPECT_NE(other[0]["id"], message["tool_calls"][0]["id"]);
  EXPECT_TRUE(choice(body_for(std::string(kCalls).substr(4)))["message"]["content"].is_null());
  EXPECT_EQ(choice(body_for("No <tool_call> here."))["message"],
            (Json{{"role", "assistant"}, {"content", "No <tool_call> here."}}));
  const Json single = choice(with(body_for(kCalls), {{"parallel_tool_calls", false}}));
  EXPECT_EQ(text_of(single["message"]["tool_calls"]), "weather({\"city\": \"Zürich\"})");
  const Json none = choice(with(body_for(kCalls), {{"tool_choice", "none"}}));
  EXPECT_EQ(none["message"]["content"], kCalls);
  EXPECT_EQ(none["finish_reason"], "stop");
  const Json cut = choice(with(body_for(kCalls), {{"max_tokens", 60}}));
  EXPECT_EQ(cut["finish_reason"], "length");
}

TEST_F(ToolServer, StreamsCalls) {
  start_with(kHermesTemplate);
  std::string content;
  Json calls = Json::array();
  const std::vector<Json> events = events_of(body_for(kCalls));
  for (const Json& event : events) {
    const Json& delta = event["delta"];
    content += delta.value("content", "");
    for (const Json& piece : delta.value("tool_calls", Json::array())) {
      ASSERT_LE(piece["index"].get<size_t>(), calls.size());
      if (piece["index"] == calls.size())
        calls.push_back(piece);
      else
        calls.back()["function"]["arguments"].get_ref<std::string&>() +=
            piece["function"]["arguments"].get<std::string>();
      EXPECT_EQ(piece.contains("id"), piece["function"].contains("name"));
    }
  }
  EXPECT_EQ(content, "See.");
  EXPECT_EQ(text_of(calls), "weather({\"city\": \"Zürich\"})now({})");
  ASSERT_GT(events.size(), 4U) << "arguments come while they are written";
  EXPECT_EQ(events.front()["delta"]["role"], "assistant");
  EXPECT_EQ(events.back()["finish_reason"], "tool_calls");
  for (size_t i = 1; i + 1 < events.size(); ++i) EXPECT_FALSE(events[i]["delta"].empty()) << i;
}

TEST_F(ToolServer, HandsCallsAndResultsToTheTemplate) {
  start_with(kHermesTemplate);
  Json body = {{"max_tokens", 1}, {"messages", Json::array()}};
  body["messages"].push_back({{"role", "user"}, {"content", "Hi"}});
  body["messages"].push_back(
      {{"role", "assistant"},
       {"content", ""},
       {"tool_calls",
        {{{"id", "x"},
          {"type", "function"},
          {"function", {{"name", "weather"}, {"arguments", "{\"city\": \"Bern\"}"}}}}}}});
  body["messages"].push_back({{"role", "tool"}, {"tool_call_id", "x"}, {"content", "7"}});
  const std::string prompt = "<user>Hi<assistant><tool_call>weather Bern</tool_call><tool>7<assistant>";
  const Json found = Json::parse(post(body, kPath)->body);
  EXPECT_EQ(found["usage"]["prompt_tokens"], prompt.size());
}

TEST_F(ToolServer, ReadsMistralsFormat) {
  start_with(kMistralTemplate);
  const Json calls =
      choice(body_for("[TOOL_CALLS]weather[ARGS]{\"city\": \"Bern\"}"))["message"]["tool_calls"];
  EXPECT_EQ(text_of(calls), "weather({\"city\": \"Bern\"})");
  EXPECT_EQ(calls[0]["id"].get<std::string>().size(), 9U);
}

/// Returns a tokenizer with a token for each printable character of ASCII, from id 0 on, and the special
/// tokens [TOOL_CALLS] (95), [ARGS] (96), </s> (97) and <end> (98).
std::string tokenizer_with_markers() {
  Json vocabulary, added = Json::array();
  for (char c = ' '; c <= '~'; ++c) vocabulary[std::string(1, c)] = c - ' ';
  for (const char* special : {"[TOOL_CALLS]", "[ARGS]", "</s>", "<end>"}) {
    const size_t id = vocabulary.size();
    vocabulary[special] = id;
    added.push_back({{"id", id}, {"content", special}, {"special", true}, {"normalized", false}});
  }
  return Json{{"version", "1.0"},
              {"added_tokens", added},
              {"decoder", {{"type", "Fuse"}}},
              {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}}
      .dump();
}

/// The answer is Ok</s>[TOOL_CALLS]f[ARGS]{"a":1}<end>.
TEST_F(ToolServer, ReadsMarkersThatAreSpecialTokens) {
  fs::create_directories(path("caller"));
  spill(path("caller") / "tokenizer.json", tokenizer_with_markers());
  start_with(kMistralTemplate);
  std::vector<int> ids;
  for (const char c : std::string("<assistant>Ok!@f#{\"a\":1}$")) ids.push_back(c - ' ');
  const std::string stand_ins = "@#!$";
  for (int& id : ids)
    if (const size_t at = stand_ins.find(static_cast<char>(id + ' ')); at != stand_ins.npos)
      id = 95 + static_cast<int>(at);
  Json biases = Json::array();
  for (size_t i = std::string("<assistant>").size(); i < ids.size(); ++i)
    biases.push_back(
        {std::vector<int>(ids.begin() + static_cast<int>(i) - 10, ids.begin() + static_cast<int>(i) + 1),
         1000.0});
  const Json body = with(body_for(""), {{"stop_token_ids", {98}}, {"sequence_bias", biases}});
  const Json found = choice(body);
  EXPECT_EQ(found["finish_reason"], "tool_calls");
  EXPECT_EQ(found["message"]["content"], "Ok");
  EXPECT_EQ(text_of(found["message"]["tool_calls"]), "f({\"a\":1})");
  EXPECT_EQ(choice(with(body, {{"tool_choice", "none"}}))["message"]["content"], "Okf{\"a\":1}");
}

TEST_F(ToolServer, RefusesToolsWithoutAFormat) {
  start_with(kPlainTemplate);
  EXPECT_EQ(fault(body_for("x").dump(), kPath), "400 tools");
  EXPECT_EQ(choice(with(body_for("x"), {{"tool_choice", "none"}}))["message"]["content"], "x");
}

TEST_F(ToolServer, TakesTheFormatOfTheOption) {
  start_with(kPlainTemplate, {"--tool-parser", "llama3_json"});
  const Json found = choice(body_for("{\"name\": \"f\", \"parameters\": {\"a\": 1}}"));
  EXPECT_EQ(text_of(found["message"]["tool_calls"]), "f({\"a\": 1})");
  EXPECT_TRUE(has(smelt("serve " + path("caller").string() + " --tool-parser other").err, "hermes"));
}

TEST_F(ToolServer, CallsThatAreRequiredSatisfyTheirSchema) {
  start_with(kPlainTemplate);
  Json body = body_for("x");
  body.erase("sequence_bias");
  body["temperature"] = 1, body["max_tokens"] = 600;
  body["tools"].push_back(Json::parse(R"({"type": "function", "function": {"name": "add", "parameters": {
      "type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": [1, 2]}}, "required": ["a", "b"],
      "additionalProperties": false}}})"));
  const Json add = {{"type", "function"}, {"function", {{"name", "add"}}}};
  for (int seed = 0; seed < 4; ++seed) {
    const Json found = choice(with(body, {{"tool_choice", add}, {"seed", seed}}));
    EXPECT_EQ(found["finish_reason"], "tool_calls");
    EXPECT_TRUE(found["message"]["content"].is_null());
    const Json call = found["message"]["tool_calls"][0]["function"];
    EXPECT_EQ(call["name"], "add");
    const Json arguments = Json::parse(call["arguments"].get<std::string>());
    EXPECT_TRUE(arguments["a"].is_number_integer() && arguments["b"].get<int>() <= 2) << call;
  }
  EXPECT_EQ(fault(with(body, {{"tool_choice", add}, {"guided_regex", "a"}}).dump(), kPath),
            "400 guided_regex");
}

TEST_F(ToolServer, ReadsNoCallsIfTheOptionIsNone) {
  start_with(kHermesTemplate, {"--tool-parser", "none"});
  const auto refused = post(body_for("x"), kPath);
  EXPECT_EQ(refused->status, 400);
  EXPECT_TRUE(has(refused->body, "--tool-parser none")) << refused->body;
}

}  // namespace
}  // namespace smelt::test
#endif
