// ChatCalls finds the tool calls in the text of an answer to a chat. An answer has one or several choices,
// which are alternative texts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/engine/serving/request.h"
#include "runtime/tools/tool_parser.h"

namespace smelt {

class ChatCalls {
 public:
  /// `answer` is the id of the answer; the ids of its calls are made from it. If `allows_several` is false,
  /// only the first call of a choice is kept, as in vLLM. `format` must outlive this object.
  ChatCalls(const tools::ToolFormat& format, bool allows_several, const std::string& answer, size_t choices);

  /// Divides the new text of a choice into content and calls. Requires: each text is given once, in order.
  tools::ParsedPiece divide(size_t choice, const Progress& fresh);
  /// Returns whether the choice has a call so far.
  bool has_called(size_t choice) const { return parsers_[choice].calls() > 0; }

 private:
  std::vector<tools::ToolParser> parsers_;  // one per choice
  bool allows_several_;
};

}  // namespace smelt
