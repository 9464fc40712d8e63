#include "runtime/engine/serving/response_request.h"

#include <gtest/gtest.h>

#include "runtime/engine/serving/api_error.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

Json chat_of(const char* body) { return Json(read_response_request(body).chat); }

TEST(ResponseRequests, AreChats) {
  EXPECT_EQ(chat_of(R"({"model": "m", "input": "Hi", "instructions": "Be brief.", "max_output_tokens": 9,
                        "temperature": 0.5, "stream": true, "user": "u", "store": false, "seed": 3})"),
            Json::parse(R"({"model": "m", "messages": [{"role": "system", "content": "Be brief."},
                                                       {"role": "user", "content": "Hi"}],
                            "max_completion_tokens": 9, "temperature": 0.5, "stream": true, "seed": 3})"));
}

TEST(ResponseRequests, ToolsAndFormsAreThoseOfChats) {
  const Json chat = chat_of(R"({"input": "Hi", "tools": [{"type": "function", "name": "f", "strict": true}],
      "tool_choice": {"type": "function", "name": "f"}, "parallel_tool_calls": false,
      "text": {"format": {"type": "json_schema", "name": "s", "schema": {"type": "object"}}}})");
  EXPECT_EQ(chat["tools"],
            Json::parse(R"([{"type": "function", "function": {"name": "f", "strict": true}}])"));
  EXPECT_EQ(chat["tool_choice"], Json::parse(R"({"type": "function", "function": {"name": "f"}})"));
  EXPECT_EQ(
      chat["response_format"],
      Json::parse(R"({"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}})"));
  EXPECT_EQ(chat_of(R"({"input": "Hi", "text": {"format": {"type": "json_object"}}})")["response_format"],
            Json::parse(R"({"type": "json_object"})"));
}

TEST(ResponseRequests, CallsJoinTheMessageOfTheAssistant) {
  const char* calls = R"({"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
                         {"type": "function_call", "call_id": "2", "name": "g", "arguments": "{}"},
                         {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "r"}]})";
  const Json alone = chat_of(fmt::format(R"({{"input": [{}]}})", calls).c_str())["messages"];
  ASSERT_EQ(alone.size(), 2U);
  EXPECT_TRUE(alone[0]["content"].is_null());
  EXPECT_EQ(alone[0]["tool_calls"].size(), 2U);
  EXPECT_EQ(alone[1], Json::parse(R"({"role": "tool", "tool_call_id": "1", "content": "r"})"));
  const Json behind =
      chat_of(fmt::format(R"({{"input": [{{"role": "assistant", "content": "x"}}, {}]}})", calls)
                  .c_str())["messages"];
  ASSERT_EQ(behind.size(), 2U);
  EXPECT_EQ(behind[0]["content"], "x");
  EXPECT_EQ(behind[0]["tool_calls"][1]["function"]["name"], "g");
}

/// "param: message"
std::string fault_of(const char* body) {
  try {
    read_response_request(body);
  } catch (const ApiError& error) {
    return fmt::format("{}: {}", error.param(), error.what());
  }
  return "no ApiError";
}

TEST(ResponseRequests, WhatIsNotSupportedIsNamed) {
  const std::pair<const char*, const char*> faults[] = {
      {R"({})", "input: there is no input"},
      {R"([])", "expected a JSON object"},
      {R"({"input": []})", "input: input = []: expected a text, or a list of 1 to 4096 items"},
      {R"({"input": [1]})", "input: input[0] = 1: expected an object"},
      {R"({"input": [{"role": "user"}]})", "input: input[0].content"},
      {R"({"input": [{"content": "a"}]})", "input: input[0].role"},
      {R"({"input": [{"role": "user", "content": "a", "name": "n"}]})", "input: input[0].name"},
      {R"({"input": [{"role": "user", "content": [{"type": "input_file"}]}]})",
       "input: input[0].content[0].type"},
      {R"({"input": [{"type": "item_reference", "id": "a"}]})", "input: input[0].type"},
      {R"({"input": "a", "metadata": {"a": 1}})", "metadata:"},
      {R"({"input": "a", "instructions": 1})", "instructions:"},
      {R"({"input": "a", "previous_response_id": "a"})", "stores no responses"},
      {R"({"input": "a", "tool_choice": {"type": "mcp"}})", "tool_choice:"},
      {R"({"input": "a", "stream_options": {"include_usage": true}})", "stream_options:"},
      {R"({"input": "a", "max_tokens": 1})", "max_tokens: max_tokens: a response has no such field"}};
  for (const auto& [body, part] : faults) EXPECT_HAS(fault_of(body), part);
}

}  // namespace
}  // namespace smelt
