#include "runtime/engine/serving/response_items.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/response_request.h"

namespace smelt {
namespace {

using ItemJson = nlohmann::ordered_json;

[[noreturn]] void refuse_item(const std::string& path, const ItemJson& value, std::string_view expected) {
  throw ApiError(http::kBadRequest, fmt::format("{} = {}: expected {}", path, brief(Json(value)), expected),
                 "input", "invalid_value");
}

/// Refuses members of an object that are not among `known`.
void require_members(const std::string& path, const ItemJson& object,
                     std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : object.items())
    if (std::ranges::find(known, name) == known.end() && !value.is_null())
      throw ApiError(http::kBadRequest, fmt::format("{}.{}: there is no such member", path, name), "input",
                     "unknown_parameter");
}

std::string text_member(const std::string& path, const ItemJson& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string())
    refuse_item(fmt::format("{}.{}", path, name), found == object.end() ? ItemJson() : *found, "a text");
  return found->get<std::string>();
}

/// Returns the text of a part of a content; only texts are supported.
std::string text_of_part(const std::string& path, const ItemJson& part) {
  if (!part.is_object()) refuse_item(path, part, "an object");
  const std::string type = part.contains("type") ? text_member(path, part, "type") : "";
  if (type != "input_text" && type != "output_text" && type != "text")
    refuse_item(path + ".type", type, "input_text or output_text, because the model reads texts alone");
  require_members(path, part, {"type", "text", "annotations", "logprobs"});
  return text_member(path, part, "text");
}

/// Returns a content, a text or a list of parts, as one text.
std::string text_of_content(const std::string& path, const ItemJson& content) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array() || content.size() > kMostItems)
    refuse_item(path, content, "a text or a list of parts");
  std::string text;
  for (size_t i = 0; i < content.size(); ++i)
    text += text_of_part(fmt::format("{}[{}]", path, i), content[i]);
  return text;
}

const ItemJson& member_of(const ItemJson& object, const char* name) {
  static const ItemJson none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

/// Builds the list of messages, item by item.
class MessageList {
 public:
  ItemJson take() { return std::move(messages_); }

  void add(const std::string& path, const ItemJson& item) {
    if (!item.is_object()) refuse_item(path, item, "an object");
    const ItemJson& type = member_of(item, "type");
    if (type.is_null() || type == "message") return add_message(path, item);
    if (type == "function_call") return add_call(path, item);
    if (type == "function_call_output") return add_result(path, item);
    refuse_item(path + ".type", type, "message, function_call or function_call_output");
  }

 private:
  void add_message(const std::string& path, const ItemJson& item) {
    require_members(path, item, {"type", "role", "content", "id", "status"});
    std::string role = text_member(path, item, "role");
    if (role == "developer") role = "system";
    messages_.push_back(
        {{"role", role}, {"content", text_of_content(path + ".content", member_of(item, "content"))}});
  }

  void add_call(const std::string& path, const ItemJson& item) {
    require_members(path, item, {"type", "call_id", "name", "arguments", "id", "status"});
    const ItemJson call = {
        {"id", text_member(path, item, "call_id")},
        {"type", "function"},
        {"function",
         {{"name", text_member(path, item, "name")}, {"arguments", text_member(path, item, "arguments")}}}};
    if (messages_.empty() || messages_.back()["role"] != "assistant")
      messages_.push_back({{"role", "assistant"}, {"content", nullptr}});
    messages_.back()["tool_calls"].push_back(call);
  }

  void add_result(const std::string& path, const ItemJson& item) {
    require_members(path, item, {"type", "call_id", "output", "id", "status"});
    messages_.push_back({{"role", "tool"},
                         {"tool_call_id", text_member(path, item, "call_id")},
                         {"content", text_of_content(path + ".output", member_of(item, "output"))}});
  }

  ItemJson messages_ = ItemJson::array();
};

}  // namespace

nlohmann::ordered_json messages_of_input(const nlohmann::ordered_json& input) {
  if (input.is_string()) {
    ItemJson messages = ItemJson::array();
    messages.push_back({{"role", "user"}, {"content", input}});
    return messages;
  }
  if (!input.is_array() || input.empty() || input.size() > kMostItems)
    refuse_item("input", input, "a text, or a list of 1 to 4096 items");
  MessageList list;
  for (size_t i = 0; i < input.size(); ++i) list.add(fmt::format("input[{}]", i), input[i]);
  return list.take();
}

}  // namespace smelt
