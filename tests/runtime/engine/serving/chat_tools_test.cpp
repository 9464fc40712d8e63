// Tools in the bodies of chats: what is handed to the template, and what is refused by name.
#include "runtime/engine/serving/chat_tools.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/chat_request.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using ToolJson = nlohmann::ordered_json;

constexpr const char* kUser = R"({"role": "user", "content": "Hi"})";
constexpr const char* kTool = R"({"type": "function", "function": {"name": "f"}})";

/// Returns the request whose body has these members in addition to the messages.
ChatRequest with_fields(const std::string& fields, const std::string& more_messages = "") {
  return read_chat_request(R"({"messages": [)" + std::string(kUser) + more_messages + "]" + fields + "}");
}

/// Returns "param: message", or "taken".
std::string fault_of(const std::string& fields, const std::string& more_messages = "") {
  try {
    with_fields(fields, more_messages);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.http_status(), 400);
    return error.param() + ": " + error.what();
  }
  return "taken";
}

std::string fault_of_message(const std::string& message) { return fault_of("", "," + message); }

TEST(ChatTools, AreHandedOverAsTheyAre) {
  const std::string tools =
      R"([{"type": "function", "function": {"strict": true, "name": "f", "description": "d",
      "parameters": {"type": "object", "properties": {"z": {}, "a": {"type": ["string", "null"]}}}}}])";
  const ChatRequest request = with_fields(R"(, "tools": )" + tools);
  EXPECT_EQ(request.tools.list.dump(), ToolJson::parse(tools).dump()) << "in the order of the request";
  EXPECT_TRUE(request.tools.reads_calls && request.tools.allows_several);
  EXPECT_FALSE(request.completion.contains("tools"));
  const ChatRequest none =
      with_fields(R"(, "tools": )" + tools + R"(, "tool_choice": "none", "parallel_tool_calls": false)");
  EXPECT_FALSE(none.tools.reads_calls || none.tools.allows_several);
  EXPECT_EQ(none.tools.list.size(), 1U) << "as in vLLM, the template has them";
  for (const char* fields :
       {"", R"(, "tools": null, "tool_choice": null)", R"(, "tools": [], "tool_choice": "auto")"}) {
    EXPECT_TRUE(with_fields(fields).tools.list.is_null()) << fields;
    EXPECT_FALSE(with_fields(fields).tools.reads_calls) << fields;
  }
}

TEST(ChatTools, CallsInMessagesHaveObjectsAsArguments) {
  const ChatRequest request = with_fields("", R"(,
      {"role": "assistant", "content": null, "tool_calls": [
         {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{\"b\": 1, \"a\": {}}"}},
         {"function": {"name": "g", "arguments": {"c": []}}}, {"function": {"name": "h", "arguments": ""}},
         {"function": {"name": "i"}}]},
      {"role": "tool", "tool_call_id": "x", "content": "7"}, {"role": "assistant", "tool_calls": [], "content": ""})");
  const ToolJson& calls = request.messages[1]["tool_calls"];
  EXPECT_EQ(calls[0]["function"]["arguments"].dump(), R"({"b":1,"a":{}})");
  EXPECT_EQ(calls[0]["id"], "x");
  EXPECT_EQ(calls[1]["function"]["arguments"].dump(), R"({"c":[]})");
  EXPECT_EQ(calls[2]["function"]["arguments"].dump(), "{}");
  EXPECT_EQ(calls[3]["function"]["arguments"].dump(), "{}");
  EXPECT_EQ(request.messages[2]["tool_call_id"], "x");
  EXPECT_FALSE(request.messages[3].contains("tool_calls"));
}

TEST(ChatTools, AreRefusedByName) {
  const auto tools = [](const std::string& list) { return fault_of(R"(, "tools": )" + list); };
  EXPECT_HAS(tools("3"), "tools: tools = 3: expected a list");
  EXPECT_HAS(tools("[3]"), "tools: tools[0] = 3: expected an object");
  EXPECT_HAS(tools(R"([{"function": {"name": "f"}}])"), "tools[0].type = null");
  EXPECT_HAS(tools(R"([{"type": "web_search"}])"), "tools[0].type");
  EXPECT_HAS(tools(R"([{"type": "function"}])"), "tools[0].function = null");
  EXPECT_HAS(tools(R"([{"type": "function", "function": {"name": ""}}])"), "tools[0].function.name");
  EXPECT_HAS(tools(R"([{"type": "function", "function": {"name": ")" + std::string(257, 'f') + R"("}}])"),
             "tools[0].function.name");
  const auto field = [&](const std::string& text) {
    return tools("[" + std::string(kTool) + R"(, {"type": "function", "function": {"name": "f", )" + text +
                 "}}]");
  };
  EXPECT_HAS(field(R"("parameters": [])"), "tools[1].function.parameters = []: expected a JSON Schema");
  EXPECT_HAS(field(R"("description": 1)"), "tools[1].function.description");
  EXPECT_HAS(field(R"("strict": "yes")"), "tools[1].function.strict");
  EXPECT_HAS(fault_of(R"(, "parallel_tool_calls": 1)"), "parallel_tool_calls: ");
}

TEST(ChatTools, ChoicesAreRefusedByName) {
  const auto choice = [](const std::string& value) {
    return fault_of(R"(, "tools": [)" + std::string(kTool) + R"(], "tool_choice": )" + value);
  };
  EXPECT_EQ(choice("\"auto\""), "taken");
  EXPECT_HAS(choice(R"({"type": "function", "function": {"name": "g"}})"), "a function of the tools");
  EXPECT_HAS(choice(R"({"type": "function"})"), "tool_choice.function = null");
  EXPECT_HAS(choice(R"({"name": "f"})"), "tool_choice.type = null");
  EXPECT_HAS(choice("3"), "tool_choice = 3");
  EXPECT_HAS(choice("\"any\""), "tool_choice = \"any\"");
  EXPECT_HAS(fault_of(R"(, "tool_choice": "required")"), "tools beside it");
}

TEST(ChatTools, ARequiredCallHasASchema) {
  const std::string tools =
      R"(, "tools": [{"type": "function", "function": {"name": "f"}},
         {"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {"x": {}}}}}])";
  const ChatRequest any = with_fields(tools + R"(, "tool_choice": "required")");
  EXPECT_EQ(any.tools.forced_call["anyOf"].size(), 2U);
  const ChatRequest one =
      with_fields(tools + R"(, "tool_choice": {"type": "function", "function": {"name": "g"}})");
  EXPECT_EQ(
      one.tools.forced_call.dump(),
      R"({"type":"object","properties":{"name":{"const":"g"},"parameters":{"type":"object","properties":{"x":{}}}},)"
      R"("required":["name","parameters"],"additionalProperties":false})");
  EXPECT_TRUE(one.tools.reads_calls);
  EXPECT_TRUE(with_fields(tools).tools.forced_call.is_null());
  EXPECT_HAS(fault_of(R"(, "tools": [{"type": "function", "function": {"name": "f", "parameters":
             {"properties": {"x": {"$ref": "#/$defs/y"}}}}}], "tool_choice": "required")"),
             "parameters without $ref");
}

TEST(ChatTools, MessagesAreRefusedByName) {
  const auto calls = [](const std::string& list) {
    return fault_of_message(R"({"role": "assistant", "tool_calls": )" + list + "}");
  };
  EXPECT_HAS(calls("3"), "messages: messages[1].tool_calls = 3");
  EXPECT_HAS(calls("[3]"), "messages[1].tool_calls[0] = 3");
  EXPECT_HAS(calls(R"([{"function": {}}])"), "messages[1].tool_calls[0].function.name = null");
  EXPECT_HAS(calls(R"([{"type": "x", "function": {"name": "f"}}])"), "messages[1].tool_calls[0].type");
  EXPECT_HAS(calls(R"([{"id": 3, "function": {"name": "f"}}])"), "messages[1].tool_calls[0].id = 3");
  EXPECT_HAS(calls(R"([{"function": {"name": "f", "arguments": "{"}}])"),
             "messages[1].tool_calls[0].function.arguments");
  EXPECT_HAS(calls(R"([{"function": {"name": "f", "arguments": "[]"}}])"),
             "expected an object, or its JSON text");
  EXPECT_HAS(calls(R"([{"function": {"name": "f", "arguments": 3}}])"),
             "messages[1].tool_calls[0].function.arguments");
  EXPECT_HAS(fault_of_message(R"({"role": "user", "tool_calls": [{"function": {"name": "f"}}]})"),
             "messages[1].tool_calls");
  EXPECT_HAS(fault_of_message(R"({"role": "tool", "tool_call_id": 3, "content": "7"})"),
             "messages[1].tool_call_id = 3");
}

}  // namespace
}  // namespace smelt
