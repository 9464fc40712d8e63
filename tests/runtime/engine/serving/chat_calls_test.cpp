// Replies to chats whose texts have calls: the form of OpenAI's API, whole and in events.
#include "runtime/engine/serving/chat_calls.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/engine/serving/completion_reply.h"

namespace smelt {
namespace {

const tools::ToolFormat& kHermes = *tools::find_format("hermes");
constexpr const char* kTwoCalls =
    "Yes.\n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>\n"
    "<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>";

Json whole(const std::string& text, Finish finish = Finish::stop, bool allows_several = true) {
  ChatCalls calls(kHermes, allows_several, "9-1", 1);
  const Progress progress{.tokens = {}, .text = text, .finish = finish, .error = ""};
  ChatPart part{.begins = true, .reads_calls = true};
  part.message = calls.divide(0, progress), part.has_called = calls.has_called(0);
  return chat_choice({.is_chat = true, .id = "", .model = "", .text_of_token = {}}, 0, progress, false, part);
}

TEST(ChatCalls, AreInMessages) {
  EXPECT_EQ(whole(kTwoCalls), Json::parse(R"({"index": 0, "logprobs": null, "finish_reason": "tool_calls",
      "message": {"role": "assistant", "content": "Yes.", "tool_calls": [
        {"id": "call_9-1-0-0", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}},
        {"id": "call_9-1-0-1", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}})"));
  EXPECT_TRUE(whole(std::string(kTwoCalls).substr(4))["message"]["content"].is_null());
  EXPECT_EQ(whole(kTwoCalls, Finish::stop, false)["message"]["tool_calls"].size(), 1U);
  EXPECT_EQ(whole("Hi")["message"], (Json{{"role", "assistant"}, {"content", "Hi"}}));
  EXPECT_EQ(whole("")["message"], (Json{{"role", "assistant"}, {"content", ""}}));
  EXPECT_EQ(whole("Hi")["finish_reason"], "stop");
  EXPECT_EQ(whole(kTwoCalls, Finish::length)["finish_reason"], "length") << "the last call may be cut off";
}

TEST(ChatCalls, AreInEvents) {
  ChatCalls calls(kHermes, true, "9-1", 2);
  const auto delta = [&](const std::string& text, Finish finish = Finish::none) {
    const Progress progress{.tokens = {}, .text = text, .finish = finish, .error = ""};
    ChatPart part{.is_event = true, .reads_calls = true};
    part.message = calls.divide(1, progress), part.has_called = calls.has_called(1);
    if (!is_news(part, progress, false)) return Json();
    const CompletionHead head{.is_chat = true, .id = "", .model = "", .text_of_token = {}};
    const Json choice = chat_choice(head, 1, progress, false, part);
    return choice["finish_reason"].is_null() ? choice["delta"] : choice;
  };
  EXPECT_EQ(delta("Yes."), (Json{{"content", "Yes."}}));
  EXPECT_EQ(delta("\n<tool_call>{\"name\": \"f\""), Json());
  EXPECT_EQ(delta(", \"arguments\": {\"a"), Json::parse(R"({"tool_calls": [{"index": 0, "id": "call_9-1-1-0",
      "type": "function", "function": {"name": "f", "arguments": "{\"a"}}]})"));
  EXPECT_EQ(delta("\": 1}}"),
            Json::parse(R"({"tool_calls": [{"index": 0, "function": {"arguments": "\": 1}"}}]})"));
  const Json last = delta("</tool_call>", Finish::stop);
  EXPECT_EQ(last["finish_reason"], "tool_calls");
  EXPECT_EQ(last["delta"], Json::object());
}

TEST(ChatCalls, LeaveEventsOfOtherChatsAsTheyAre) {
  const CompletionHead head{.is_chat = true, .id = "", .model = "", .text_of_token = {}};
  const ChatPart part{.is_event = true};
  EXPECT_TRUE(is_news(part, {}, false));
  EXPECT_EQ(chat_choice(head, 0, {}, false, part)["delta"], (Json{{"content", ""}}));
}

}  // namespace
}  // namespace smelt
