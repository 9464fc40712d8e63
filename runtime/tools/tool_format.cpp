#include "runtime/tools/tool_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace smelt::tools {
namespace {

std::string short_id(std::string_view text) {
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr size_t kLength = 9;
  uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a, and then the mixing steps of SplitMix64
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  hash = (hash ^ hash >> 30U) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ hash >> 27U) * 0x94d049bb133111ebU;
  hash ^= hash >> 31U;
  std::string id;
  for (; id.size() < kLength; hash /= kLetters.size()) id += kLetters[hash % kLetters.size()];
  return id;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

/// Names are those of vLLM's option --tool-call-parser.
const std::vector<ToolFormat>& tool_formats() {
  static const std::vector<ToolFormat> formats = {
      {.name = "hermes",
       .help = "Hermes, Qwen: <tool_call>{\"name\", \"arguments\"}</tool_call>",
       .shape = CallShape::object,
       .open = "<tool_call>",
       .close = "</tool_call>",
       .arguments = {"arguments"},
       .special = {"<tool_call>", "</tool_call>"},
       .in_template = {"<tool_call>", "arguments"},
       // Other formats that have this marker: tags per argument, or a list.
       .not_in_template = {"<function=", "<function name=", "<arg_key>", "<invoke", "<tool_calls>"}},
      {.name = "mistral",
       .help = "Mistral: [TOOL_CALLS] [{\"name\", \"arguments\"}], or [TOOL_CALLS]name[ARGS]{...}",
       .shape = CallShape::named_or_list,
       .open = "[TOOL_CALLS]",
       .close = "",
       .arguments = {"arguments"},
       .special = {"[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"},
       .in_template = {"[TOOL_CALLS]"},
       .not_in_template = {},
       .has_short_ids = true},
      {.name = "llama3_json",
       .help = "Llama 3.1 to 3.3: {\"name\", \"parameters\"}",
       .shape = CallShape::objects,
       .open = "<|python_tag|>",
       .close = "",
       .arguments = {"parameters", "arguments"},
       .special = {"<|python_tag|>"},
       .in_template = {"{\"name\": function name, \"parameters\":"},
       .not_in_template = {}},
  };
  return formats;
}

const ToolFormat* find_format(std::string_view name) {
  const auto found = std::ranges::find(tool_formats(), name, &ToolFormat::name);
  return found == tool_formats().end() ? nullptr : &*found;
}

const ToolFormat* recognize_format(std::string_view chat_template) {
  const auto has = [&](std::string_view marker) { return contains(chat_template, marker); };
  for (const ToolFormat& format : tool_formats())
    if (std::ranges::all_of(format.in_template, has) && std::ranges::none_of(format.not_in_template, has))
      return &format;
  return nullptr;
}

std::string format_names() {
  std::string names;
  for (const ToolFormat& format : tool_formats())
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

std::string call_id(const ToolFormat& format, std::string_view answer, size_t choice, size_t index) {
  const std::string id = fmt::format("{}-{}-{}", answer, choice, index);
  return format.has_short_ids ? short_id(id) : "call_" + id;
}

}  // namespace smelt::tools
