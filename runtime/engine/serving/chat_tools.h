// Tools in the body of a POST /v1/chat/completions: the fields `tools`, `tool_choice` and
// `parallel_tool_calls`, and the calls and results in the messages.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

namespace smelt {

struct ChatTools {
  nlohmann::ordered_json list;  // objects {"type": "function", "function": {"name", ...}}; null: none
  bool reads_calls = false;  // whether calls are read from the answer: there are tools, and calls are allowed
  bool allows_several = true;  // parallel_tool_calls; false: only the first call of an answer is returned
  /// If tool_choice requires a call: the JSON Schema of the answer. The answer must then be a call, an object
  /// {"name", "parameters"}. null: the model chooses.
  nlohmann::ordered_json forced_call;
};

/// Largest number of tools of a request, and of calls in a message.
constexpr size_t kMostTools = 1024;
/// Longest name of a function, in bytes.
constexpr size_t kMostFunctionNameBytes = 256;

/// Checks the three fields of a request. A missing field is null. `parallel` is the value of
/// parallel_tool_calls. Throws ApiError naming the field if one is wrong or not supported.
ChatTools read_chat_tools(nlohmann::ordered_json tools, const nlohmann::ordered_json& choice, bool parallel);

/// Checks the calls and the results in the messages, and prepares the calls for a chat template, as vLLM does
/// in _postprocess_messages. Arguments that are JSON text become objects, because templates apply `tojson` to
/// them. Missing and empty arguments become {}. An empty list tool_calls is removed. Throws ApiError naming
/// the message that is wrong.
void prepare_tool_messages(nlohmann::ordered_json& messages);

}  // namespace smelt
