// Formats in which models write calls of tools into their text: one table for the parser (tool_parser.h), the
// recognition of a model's format and the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt::tools {

/// Shape of the text after the marker that opens calls.
enum class CallShape : uint8_t {
  object,        // one object {"name", "arguments"}; `close` ends it
  objects,       // objects with semicolons between them; no marker is needed if the answer begins with a call
  named_or_list  // the tool's name, the marker "[ARGS]" and an object of arguments; or a list of objects
};

struct ToolFormat {
  std::string_view name, help;
  CallShape shape;
  std::string_view open, close;             // markers; `close` may be empty
  std::vector<std::string_view> arguments;  // accepted names of the member that has the arguments
  std::vector<std::string_view> special;    // markers that may be special tokens, which a decoder must keep
  /// A chat template that contains all texts of `in_template` and none of `not_in_template` is for this
  /// format.
  std::vector<std::string_view> in_template, not_in_template;
  bool has_short_ids = false;  // ids are 9 letters and digits, which templates of the model require
};

/// Returns the formats, in the order in which recognize_format() tries them.
const std::vector<ToolFormat>& tool_formats();
/// Returns the format of this name; null if there is none.
const ToolFormat* find_format(std::string_view name);
/// Returns the format of the models that have this chat template, by the markers that the template contains;
/// null if it is for none of the formats.
const ToolFormat* recognize_format(std::string_view chat_template);
/// Returns the names of all formats, for messages: "hermes, llama3_json, mistral".
std::string format_names();

/// Returns the id of a call. The id is "call_" followed by `answer`, `choice` and `index`, or, if
/// ToolFormat::has_short_ids, 9 letters and digits that are derived from them. Ids of the first kind are
/// unique if `answer` is unique. Two ids of the second kind are equal with probability 7e-17.
std::string call_id(const ToolFormat& format, std::string_view answer, size_t choice, size_t index);

}  // namespace smelt::tools
