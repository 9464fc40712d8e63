#include "runtime/engine/serving/chat_tools.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/engine/serving/api_error.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

using ToolJson = nlohmann::ordered_json;

/// Position of a value in the body, for messages: the field, and the path from there.
struct ToolPlace {
  const char* field;
  std::string path;
  ToolPlace at(std::string_view member) const { return {field, fmt::format("{}.{}", path, member)}; }
  ToolPlace at(size_t index) const { return {field, fmt::format("{}[{}]", path, index)}; }
};

[[noreturn]] void refuse_tool(const ToolPlace& place, const ToolJson& value, std::string_view expected) {
  throw ApiError(http::kBadRequest,
                 fmt::format("{} = {}: expected {}", place.path, brief(Json(value)), expected), place.field,
                 "invalid_value");
}

/// Returns a member of an object; null if it has none.
const ToolJson& member(const ToolJson& object, const char* name) {
  static const ToolJson none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

void require_optional(const ToolJson& object, const char* name, const ToolPlace& place,
                      bool (ToolJson::*is_right)() const noexcept, const char* expected) {
  const ToolJson& value = member(object, name);
  if (!value.is_null() && !(value.*is_right)()) refuse_tool(place.at(name), value, expected);
}

void require_object(const ToolJson& value, const ToolPlace& place) {
  if (!value.is_object()) refuse_tool(place, value, "an object");
}

/// Checks {"type": "function", "function": {"name": ...}}, which tools, calls and a choice have in common.
void check_function(const ToolJson& value, const ToolPlace& place, bool requires_type) {
  require_object(value, place);
  const ToolJson& type = member(value, "type");
  if (type != "function" && (requires_type || !type.is_null()))
    refuse_tool(place.at("type"), type, "\"function\"");
  const ToolPlace function = place.at("function");
  require_object(member(value, "function"), function);
  const ToolJson& name = member(member(value, "function"), "name");
  const bool is_name = name.is_string() && !name.get_ref<const std::string&>().empty() &&
                       name.get_ref<const std::string&>().size() <= kMostFunctionNameBytes;
  if (!is_name) refuse_tool(function.at("name"), name, "a text of 1 to 256 bytes");
}

void check_tool(const ToolJson& tool, const ToolPlace& place) {
  check_function(tool, place, /*requires_type=*/true);
  const ToolJson& function = member(tool, "function");
  const ToolPlace inside = place.at("function");
  require_optional(function, "description", inside, &ToolJson::is_string, "a text");
  require_optional(function, "parameters", inside, &ToolJson::is_object, "a JSON Schema, an object");
  require_optional(function, "strict", inside, &ToolJson::is_boolean, "true or false");
}

void check_tools(const ToolJson& tools) {
  const ToolPlace place{"tools", "tools"};
  if (!tools.is_array() || tools.size() > kMostTools)
    refuse_tool(place, tools, "a list of at most 1024 functions");
  for (size_t i = 0; i < tools.size(); ++i) check_tool(tools[i], place.at(i));
}

/// Returns whether any object in the value has a member "$ref".
bool has_references(const ToolJson& value) {
  if (value.is_object() && value.contains("$ref")) return true;
  return value.is_structured() && std::ranges::any_of(value, has_references);
}

/// Returns the JSON Schema of a call of a tool. The schema of the arguments becomes a part of it, so that its
/// references would refer to something else.
ToolJson schema_of_call(const ToolJson& tool) {
  const ToolJson& function = member(tool, "function");
  ToolJson arguments = member(function, "parameters");
  if (arguments.is_null() || arguments.empty()) arguments = {{"type", "object"}};
  if (has_references(arguments))
    refuse_tool({"tools", "tools"}, function["name"],
                "parameters without $ref where tool_choice requires a call");
  return {{"type", "object"},
          {"properties", {{"name", {{"const", function["name"]}}}, {"parameters", std::move(arguments)}}},
          {"required", {"name", "parameters"}},
          {"additionalProperties", false}};
}

/// Returns the JSON Schema of the call that a choice requires: of one function, or of any of the tools; null
/// if it requires none. Requires: the choice has been checked.
ToolJson schema_of_choice(const ToolJson& tools, const ToolJson& choice) {
  if (choice != "required" && !choice.is_object()) return nullptr;
  ToolJson schemas = ToolJson::array();
  for (const ToolJson& tool : tools)
    if (choice == "required" || tool["function"]["name"] == choice["function"]["name"])
      schemas.push_back(schema_of_call(tool));
  return schemas.size() == 1 ? schemas[0] : ToolJson{{"anyOf", std::move(schemas)}};
}

/// Checks "auto", "none", "required", or a function of the tools.
void check_choice(const ToolJson& tools, const ToolJson& choice) {
  const ToolPlace place{"tool_choice", "tool_choice"};
  if (choice.is_null() || choice == "none" || choice == "auto") return;
  if (choice != "required" && !choice.is_object())
    refuse_tool(place, choice, "\"auto\", \"none\", \"required\" or a function");
  if (choice.is_object()) check_function(choice, place, /*requires_type=*/true);
  if (tools.is_null()) refuse_tool(place, choice, "tools beside it");
  const auto is_chosen = [&](const ToolJson& tool) {
    return tool["function"]["name"] == choice["function"]["name"];
  };
  if (choice.is_object() && std::ranges::none_of(tools, is_chosen))
    refuse_tool(place, choice, "a function of the tools");
}

/// Returns the value of a text that is JSON; null for an empty text.
ToolJson parse_arguments(const std::string& text, const ToolPlace& place) {
  if (text.empty()) return nullptr;
  try {
    return parse_ordered_json(text, place.path);
  } catch (const Error& error) {
    throw ApiError(http::kBadRequest, error.what(), place.field, "invalid_value");
  }
}

/// Returns the arguments of a call as an object.
ToolJson arguments_of(const ToolJson& function, const ToolPlace& place) {
  ToolJson arguments = member(function, "arguments");
  if (arguments.is_string()) arguments = parse_arguments(arguments.get_ref<const std::string&>(), place);
  if (arguments.is_null()) return ToolJson::object();
  if (!arguments.is_object()) refuse_tool(place, arguments, "an object, or its JSON text");
  return arguments;
}

void prepare_call(ToolJson& call, const ToolPlace& place) {
  check_function(call, place, /*requires_type=*/false);
  require_optional(call, "id", place, &ToolJson::is_string, "a text");
  ToolJson& function = call["function"];
  function["arguments"] = arguments_of(function, place.at("function").at("arguments"));
}

void prepare_calls(ToolJson& message, const ToolPlace& place) {
  const ToolJson& calls = member(message, "tool_calls");
  if (calls.is_null()) return;
  const ToolPlace inside = place.at("tool_calls");
  if (message["role"] != "assistant") refuse_tool(inside, calls, "none: an assistant's messages have calls");
  if (!calls.is_array() || calls.size() > kMostTools)
    refuse_tool(inside, calls, "a list of at most 1024 calls");
  if (calls.empty()) {
    message.erase("tool_calls");
    return;
  }
  for (size_t i = 0; i < calls.size(); ++i) prepare_call(message["tool_calls"][i], inside.at(i));
}

}  // namespace

ChatTools read_chat_tools(ToolJson tools, const ToolJson& choice, bool parallel) {
  if (!tools.is_null()) check_tools(tools);
  if (tools.empty()) tools = nullptr;
  check_choice(tools, choice);
  const bool reads_calls = !tools.is_null() && choice != "none";
  ToolJson forced = schema_of_choice(tools, choice);
  return {.list = std::move(tools),
          .reads_calls = reads_calls,
          .allows_several = parallel,
          .forced_call = std::move(forced)};
}

void prepare_tool_messages(ToolJson& messages) {
  const ToolPlace place{"messages", "messages"};
  for (size_t i = 0; i < messages.size(); ++i) {
    prepare_calls(messages[i], place.at(i));
    if (messages[i]["role"] == "tool")
      require_optional(messages[i], "tool_call_id", place.at(i), &ToolJson::is_string, "a text");
  }
}

}  // namespace smelt
