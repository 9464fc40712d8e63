#include "runtime/engine/serving/chat_request.h"

#include <algorithm>

#include "runtime/engine/serving/api_error.h"
#include "runtime/system/json_members.h"

namespace smelt {
namespace {

using Ordered = nlohmann::ordered_json;

[[noreturn]] void refuse_field(const char* name, const Json& value, const char* expected) {
  throw ApiError(http::kBadRequest, fmt::format("{} = {}: expected {}", name, brief(value), expected), name,
                 "invalid_value");
}

/// Reads the fields of a chat and removes them from the body; the rest are those of a completion.
class ChatReader {
 public:
  explicit ChatReader(Ordered body) : body_(std::move(body)) {}

  ChatRequest read() {
    request_.messages = messages();
    request_.documents = list_or_null("documents");
    request_.variables = object("chat_template_kwargs");
    request_.add_generation_prompt = flag("add_generation_prompt", true);
    request_.continue_final_message = flag("continue_final_message", false);
    if (request_.continue_final_message && request_.add_generation_prompt)
      refuse_field("continue_final_message", true, "add_generation_prompt = false beside it");
    read_tools();
    refuse_fields_of_completions();
    rename_length();
    rename_log_probabilities();
    const bool adds_special_tokens = flag("add_special_tokens", false);  // the template writes them
    request_.completion = std::move(body_);
    request_.completion["add_special_tokens"] = adds_special_tokens;
    return std::move(request_);
  }

 private:
  /// Removes a field and returns its value; null if there is none.
  Ordered take(const char* name) { return take_member(body_, name); }

  Ordered messages() {
    Ordered list = take("messages");
    if (list.is_null())
      throw ApiError(http::kBadRequest, "there are no messages", "messages", "missing_required_parameter");
    const auto has_role = [](const Ordered& each) {
      return each.is_object() && each.contains("role") && each["role"].is_string();
    };
    if (!list.is_array() || list.empty() || list.size() > kMostMessages ||
        !std::ranges::all_of(list, has_role))
      refuse_field("messages", Json(list), "a list of 1 to 4096 objects, each with a role");
    prepare_tool_messages(list);
    return list;
  }

  Ordered list_or_null(const char* name) {
    Ordered value = take(name);
    if (!value.is_null() && !value.is_array()) refuse_field(name, Json(value), "a list");
    return value;
  }

  Ordered object(const char* name) {
    Ordered value = take(name);
    if (value.is_null()) return Ordered::object();
    if (!value.is_object()) refuse_field(name, Json(value), "an object of variables");
    return value;
  }

  bool flag(const char* name, bool otherwise) {
    const Ordered value = take(name);
    if (value.is_null()) return otherwise;
    if (!value.is_boolean()) refuse_field(name, Json(value), "true or false");
    return value.get<bool>();
  }

  void read_tools() {
    Ordered tools = take("tools");
    const Ordered choice = take("tool_choice");
    request_.tools = read_chat_tools(std::move(tools), choice, flag("parallel_tool_calls", true));
  }

  /// A chat has none of them.
  void refuse_fields_of_completions() const {
    for (const char* name : {"prompt", "echo", "suffix", "prompt_logprobs"})
      if (body_.contains(name))
        throw ApiError(http::kBadRequest, fmt::format("{}: a chat has no such field", name), name,
                       "unknown_parameter");
  }

  void rename_length() {
    Ordered most = take("max_completion_tokens");
    if (most.is_null()) {
      if (body_.contains("max_tokens") && body_["max_tokens"].is_null()) body_.erase("max_tokens");
      return;
    }
    if (body_.contains("max_tokens") && body_["max_tokens"] != most)
      refuse_field("max_completion_tokens", Json(most), "one of max_tokens and max_completion_tokens");
    body_["max_tokens"] = std::move(most);
  }

  /// logprobs says whether there are any, top_logprobs how many of the best.
  void rename_log_probabilities() {
    const Ordered count = take("top_logprobs");
    const bool given = flag("logprobs", false);
    if (!count.is_null() && !given) refuse_field("top_logprobs", Json(count), "logprobs = true beside it");
    if (given) body_["logprobs"] = count.is_null() ? Ordered(0) : count;
  }

  Ordered body_;
  ChatRequest request_;
};

}  // namespace

ChatRequest read_chat_request(std::string_view text) {
  return read_parsed_chat_request(parse_request_body(text));
}

ChatRequest read_parsed_chat_request(nlohmann::ordered_json body) {
  return ChatReader(std::move(body)).read();
}

nlohmann::ordered_json parse_request_body(std::string_view text) {
  Ordered body;
  try {
    body = parse_ordered_json(text, "the body");
  } catch (const Error& error) {
    throw ApiError(http::kBadRequest, error.what(), "", "invalid_json");
  }
  if (!body.is_object())
    throw ApiError(http::kBadRequest, "the body: expected a JSON object", "", "invalid_json");
  return body;
}

}  // namespace smelt
