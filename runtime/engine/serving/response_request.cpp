#include "runtime/engine/serving/response_request.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/chat_request.h"
#include "runtime/engine/serving/response_items.h"
#include "runtime/system/json_members.h"

namespace smelt {
namespace {

using ResponseJson = nlohmann::ordered_json;

[[noreturn]] void refuse_response_field(const char* name, const ResponseJson& value,
                                        std::string_view expected) {
  throw ApiError(http::kBadRequest, fmt::format("{} = {}: expected {}", name, brief(Json(value)), expected),
                 name, "invalid_value");
}

/// A field that may only have the value that it has by default.
struct Fixed {
  const char* name;
  const char* value;  // JSON text
  const char* expected;
};
constexpr const char* kNoStore =
    "none: the server stores no responses, so `input` has to have the whole conversation";
constexpr Fixed kFixed[] = {{"previous_response_id", "null", kNoStore},
                            {"conversation", "null", kNoStore},
                            {"store", "false", "false: the server stores no responses"},
                            {"background", "false", "false: a response is the reply to its request"},
                            {"prompt", "null", "none: there are no stored prompts; use input"},
                            {"include", "[]", "an empty list: there is no further output"},
                            {"reasoning", "null", "none: no reasoning is separated from the text"},
                            {"truncation", "\"disabled\"", "\"disabled\": input is never cut off"},
                            {"max_tool_calls", "null", "none: the server calls no tools by itself"},
                            {"top_logprobs", "0", "0: use /v1/chat/completions for log-probabilities"},
                            {"service_tier", "\"auto\"", "\"auto\": there is one tier"},
                            {"stream_options", "{\"include_obfuscation\":false}",
                             "include_obfuscation alone, and false: streams have no padding"}};
/// Fields that a chat or a completion has and a response has under another name, or does not have.
constexpr const char* kOfChats[] = {"messages",
                                    "max_tokens",
                                    "max_completion_tokens",
                                    "n",
                                    "best_of",
                                    "logprobs",
                                    "response_format",
                                    "documents",
                                    "add_generation_prompt",
                                    "continue_final_message",
                                    "functions",
                                    "function_call"};
/// Texts that identify the client's users or caches, and have no effect.
constexpr const char* kLabels[] = {"user", "safety_identifier", "prompt_cache_key"};
constexpr int64_t kMostOutputTokens = 1 << 24;
constexpr size_t kMostMetadata = 16;

/// Takes the fields of a response from the body and adds those of the chat; the rest are the same in both.
class ResponseReader {
 public:
  explicit ResponseReader(ResponseJson body) : body_(std::move(body)) {}

  ResponseRequest read() {
    require_fixed();
    refuse_fields_of_chats();
    read_labels();
    read_metadata();
    read_input();
    read_length();
    read_text();
    read_tools();
    repeat("temperature"), repeat("top_p"), repeat("parallel_tool_calls");
    result_.fields["previous_response_id"] = nullptr;
    result_.fields["store"] = false;
    result_.chat = std::move(body_);
    return std::move(result_);
  }

 private:
  ResponseJson take(const char* name) { return take_member(body_, name); }

  void require_fixed() {
    for (const Fixed& each : kFixed)
      if (const ResponseJson value = take(each.name);
          !value.is_null() && value != ResponseJson::parse(each.value))
        refuse_response_field(each.name, value, each.expected);
  }

  void refuse_fields_of_chats() const {
    for (const char* name : kOfChats)
      if (body_.contains(name))
        throw ApiError(http::kBadRequest, fmt::format("{}: a response has no such field", name), name,
                       "unknown_parameter");
  }

  void read_labels() {
    for (const char* name : kLabels) {
      const ResponseJson value = take(name);
      if (!value.is_null() && !value.is_string()) refuse_response_field(name, value, "a text");
    }
  }

  void read_metadata() {
    ResponseJson metadata = take("metadata");
    if (metadata.is_null()) metadata = ResponseJson::object();
    const auto is_text = [](const ResponseJson& value) { return value.is_string(); };
    if (!metadata.is_object() || metadata.size() > kMostMetadata || !std::ranges::all_of(metadata, is_text))
      refuse_response_field("metadata", metadata, "an object of at most 16 texts");
    result_.fields["metadata"] = metadata;
  }

  void read_input() {
    const ResponseJson input = take("input"), instructions = take("instructions");
    if (input.is_null())
      throw ApiError(http::kBadRequest, "there is no input", "input", "missing_required_parameter");
    if (!instructions.is_null() && !instructions.is_string())
      refuse_response_field("instructions", instructions, "a text");
    ResponseJson messages = messages_of_input(input);
    const ResponseJson first = {{"role", "system"}, {"content", instructions}};
    if (!instructions.is_null()) messages.insert(messages.begin(), first);
    result_.fields["instructions"] = instructions;
    body_["messages"] = std::move(messages);
  }

  void read_length() {
    const ResponseJson most = take("max_output_tokens");
    result_.fields["max_output_tokens"] = most;
    if (most.is_null()) return;
    if (!most.is_number_integer() || most < 1 || most > kMostOutputTokens)
      refuse_response_field("max_output_tokens", most, "a whole number from 1 to 16777216");
    body_["max_completion_tokens"] = most;
  }

  /// text.format is response_format, but a schema is one level higher.
  void read_text() {
    const ResponseJson text = take("text");
    result_.fields["text"] = {{"format", {{"type", "text"}}}};
    if (text.is_null()) return;
    if (!text.is_object()) refuse_response_field("text", text, "an object");
    for (const auto& [name, value] : text.items())
      if (name != "format" && !value.is_null()) refuse_response_field("text", text, "format alone");
    if (!text.contains("format") || text["format"].is_null()) return;
    result_.fields["text"] = text;
    body_["response_format"] = response_format(text["format"]);
  }

  static ResponseJson response_format(ResponseJson format) {
    if (!format.is_object()) refuse_response_field("text", format, "an object as format");
    if (!format.contains("type") || format["type"] != "json_schema") return format;
    format.erase("type");
    return {{"type", "json_schema"}, {"json_schema", std::move(format)}};
  }

  /// {"type": "function", "name": ...} has its fields one level lower in a chat.
  static ResponseJson function_of(const char* field, ResponseJson value) {
    if (!value.is_object() || !value.contains("type") || value["type"] != "function")
      refuse_response_field(field, value, "{\"type\": \"function\", \"name\": ...}");
    value.erase("type");
    return {{"type", "function"}, {"function", std::move(value)}};
  }

  void read_tools() {
    const ResponseJson tools = take("tools"), choice = take("tool_choice");
    result_.fields["tools"] = tools.is_null() ? ResponseJson::array() : tools;
    result_.fields["tool_choice"] = choice.is_null() ? ResponseJson("auto") : choice;
    if (!tools.is_null() && (!tools.is_array() || tools.size() > kMostTools))
      refuse_response_field("tools", tools, "a list of at most 1024 functions");
    for (const ResponseJson& tool : tools) body_["tools"].push_back(function_of("tools", tool));
    if (choice.is_object())
      body_["tool_choice"] = function_of("tool_choice", choice);
    else if (!choice.is_null())
      body_["tool_choice"] = choice;
  }

  /// Repeats a field that the chat reads, too.
  void repeat(const char* name) {
    const bool is_given = body_.contains(name);
    result_.fields[name] = is_given ? Json(body_[name]) : Json(nullptr);
  }

  ResponseJson body_;
  ResponseRequest result_;
};

}  // namespace

ResponseRequest read_response_request(std::string_view body) {
  return ResponseReader(parse_request_body(body)).read();
}

}  // namespace smelt
