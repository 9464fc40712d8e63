// Chats over HTTP: a chat is the completion of what the model's template makes of its messages.
#ifdef SMELT_SERVER
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

constexpr const char* kTemplate =
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}\n"
    "{% if m.tool_calls is defined %}calls{% endif %}{{ m.reasoning_content }}{% endfor %}"
    "{% if documents %}{{ documents | tojson }}{% endif %}{% if tone %}({{ tone }}){% endif %}"
    "{% if messages[0].role == 'robot' %}{{ raise_exception('no robots') }}{% endif %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

class ChatServer : public Server {
 protected:
  void make_model(const std::string& text = kTemplate) const {
    const fs::path model = path("chatty");
    fs::create_directories(model);
    spill(model / "spec.json", kSlowModel);
    spill(model / "chat_template.jinja", text);
    spill(model / "tokenizer_config.json", R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>"})");
  }
  void start_chat(const std::string& text = kTemplate) {
    make_model(text);
    start(path("chatty").string(), {"--from-scratch", "--max", "T=256"});
  }
  static constexpr const char* kPath = "/v1/chat/completions";
  Json chat(const Json& body) const {
    const auto result = post(body, kPath);
    if (result && result->status == 200) return Json::parse(result->body);
    ADD_FAILURE() << body << ": " << (result ? result->body : "no answer");
    return {{"choices", Json::array()}};
  }
};

const Json kMessages = {{{"role", "system"}, {"content", "Be brief. "}},
                        {{"role", "user"}, {"content", "Hi"}}};

TEST_F(ChatServer, ContinuesWhatTheTemplateWrites) {
  start_chat();
  const Json sampling = {{"max_tokens", 12}, {"seed", 4}};
  const auto with = [&](Json body) { return body.update(sampling), body; };
  const Json found = chat(with({{"messages", kMessages}}));
  const Json text = completion(with({{"prompt", "<s><system>Be brief.\n<user>Hi\n<assistant>"}}));
  EXPECT_EQ(found["object"], "chat.completion");
  EXPECT_TRUE(found["id"].get<std::string>().starts_with("chatcmpl-"));
  const Json& choice = found["choices"][0];
  EXPECT_EQ(choice["message"], (Json{{"role", "assistant"}, {"content", text["choices"][0]["text"]}}));
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(found["usage"], text["usage"]);
  Json nulls = kMessages;
  nulls[1]["documents"] = nullptr, nulls[1]["tool_calls"] = nullptr;  // as OpenAI's client sends them
  EXPECT_EQ(chat(with({{"messages", nulls}}))["usage"], found["usage"]);
  nulls[1]["reasoning"] = "why";
  EXPECT_EQ(chat(with({{"messages", nulls}}))["usage"]["prompt_tokens"],
            found["usage"]["prompt_tokens"].get<int>() + 3);
  const Json other = chat(with({{"messages", kMessages},
                                {"add_generation_prompt", false},
                                {"continue_final_message", true},
                                {"chat_template_kwargs", {{"tone", "dry"}}}}));
  EXPECT_EQ(other["usage"]["prompt_tokens"], std::string("<s><system>Be brief.\n<user>Hi").size());
}

TEST_F(ChatServer, GenerateAnswersAMessage) {
  make_model();
  const std::string rest = " --from-scratch --max T=256 --max-new-tokens 9 --json";
  const Outcome found = smelt("generate " + path("chatty").string() + " --chat --prompt ' Hi '" + rest);
  const Outcome text =
      smelt("generate " + path("chatty").string() + " --prompt '<s><user>Hi\n<assistant>'" + rest);
  EXPECT_EQ(found.out, text.out) << found.err;
  EXPECT_TRUE(has(found.out, "new_ids"));
  fs::remove(path("chatty") / "chat_template.jinja");
  EXPECT_TRUE(has(smelt("generate " + path("chatty").string() + " --chat --prompt Hi" + rest).err,
                  "no chat template"));
}

TEST_F(ChatServer, StreamsTheSameText) {
  start_chat();
  Json body = {{"messages", kMessages}, {"max_completion_tokens", 20}, {"seed", 4}, {"n", 2}};
  const Json whole = chat(body)["choices"];
  body["stream"] = true, body["stream_options"] = {{"include_usage", true}};
  std::istringstream text(post(body, kPath)->body);
  std::vector<std::string> joined(2), roles(2);
  Json usage;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("data: ") || line.ends_with("[DONE]")) continue;
    const Json event = Json::parse(line.substr(6));
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    if (event.contains("usage")) usage = event["usage"];
    for (const Json& choice : event["choices"]) {
      const size_t index = choice["index"].get<size_t>();
      joined[index] += choice["delta"]["content"].get<std::string>();
      roles[index] += choice["delta"].value("role", "");
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(joined[i], whole[i]["message"]["content"].get<std::string>());
    EXPECT_EQ(roles[i], "assistant") << "once, with the first event";
  }
  EXPECT_EQ(usage["completion_tokens"], 40);
}

TEST_F(ChatServer, HasTheLengthThatIsLeftAndLogProbabilities) {
  start_chat();
  Json body = {{"messages", kMessages}, {"temperature", 0}, {"logprobs", true}, {"top_logprobs", 2}};
  const Json found = chat(body);
  EXPECT_EQ(found["usage"]["total_tokens"], 257) << "T, and a last token that is not read";
  const Json& tokens = found["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(tokens.size(), found["usage"]["completion_tokens"].get<size_t>());
  EXPECT_EQ(tokens[0]["top_logprobs"].size(), 2U);
  EXPECT_EQ(tokens[0]["top_logprobs"][0]["logprob"], tokens[0]["logprob"]);
  EXPECT_TRUE(tokens[0]["bytes"].is_array());
}

TEST_F(ChatServer, RefusesByName) {
  start_chat();
  const auto fault_with = [&](Json more) {
    Json body = {{"messages", kMessages}, {"max_tokens", 2}};
    return fault((body.update(more), body).dump(), kPath);
  };
  const Json tool = {{{"type", "function"}, {"function", {{"name", "f"}}}}};
  EXPECT_EQ(fault_with({{"messages", nullptr}}), "400 messages");
  EXPECT_EQ(fault_with({{"messages", Json::array()}}), "400 messages");
  EXPECT_EQ(fault_with({{"messages", {{{"content", "x"}}}}}), "400 messages");
  EXPECT_EQ(fault_with({{"tools", tool}}), "400 tools");
  EXPECT_EQ(fault_with({{"tool_choice", "required"}}), "400 tool_choice");  // without tools
  EXPECT_EQ(fault_with({{"response_format", {{"type", "yaml"}}}}), "400 response_format");
  EXPECT_EQ(fault_with({{"prompt", "x"}}), "400 prompt");
  EXPECT_EQ(fault_with({{"echo", true}}), "400 echo");
  EXPECT_EQ(fault_with({{"top_logprobs", 2}}), "400 top_logprobs");
  EXPECT_EQ(fault_with({{"max_completion_tokens", 3}}), "400 max_completion_tokens");
  EXPECT_EQ(fault_with({{"continue_final_message", true}}), "400 continue_final_message");
  EXPECT_EQ(fault_with({{"chat_template_kwargs", 3}}), "400 chat_template_kwargs");
  EXPECT_EQ(fault_with({{"chat_template_kwargs", {{"messages", 3}}}}), "400 ");
  EXPECT_EQ(fault_with({{"parallel_tool_calls", 3}}), "400 parallel_tool_calls");
  EXPECT_EQ(fault_with({{"functions", tool}}), "400 functions");
  const auto raised = post({{"messages", {{{"role", "robot"}, {"content", "x"}}}}}, kPath);
  EXPECT_EQ(raised->status, 400);
  EXPECT_TRUE(has(raised->body, "no robots")) << raised->body;
  EXPECT_EQ(
      chat({{"messages", kMessages}, {"max_tokens", 2}, {"tools", tool}, {"tool_choice", "none"}})["choices"]
          .size(),
      1U);
}

TEST_F(ChatServer, WithoutAValidTemplateTextsAreAnsweredAlone) {
  start_chat("{% for m in messages %}");
  const auto refused = post({{"messages", kMessages}}, kPath);
  EXPECT_EQ(refused->status, 400);
  EXPECT_TRUE(has(refused->body, "chat template 'default'")) << refused->body;
  EXPECT_EQ(completion({{"prompt", "a"}, {"max_tokens", 2}})["choices"].size(), 1U);
}

}  // namespace
}  // namespace smelt::test
#endif
