// ChatCalls: the calls of tools in the choices of one answer to a chat.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/engine/serving/request.h"
#include "runtime/tools/tool_parser.h"

namespace smelt {

class ChatCalls {
 public:
  /// `answer` is the id of the answer, from which those of its calls are made. If not `allows_several`, a
  /// choice has at most one call, and later ones are dropped, as in vLLM. `format` must outlive this object.
  ChatCalls(const tools::ToolFormat& format, bool allows_several, const std::string& answer, size_t choices);

  /// Divides the new text of a choice into content and calls. Requires: each text is given once, in order.
  tools::ParsedPiece divide(size_t choice, const Progress& fresh);
  /// Returns whether the choice has a call so far.
  bool has_called(size_t choice) const { return parsers_[choice].calls() > 0; }

 private:
  std::vector<tools::ToolParser> parsers_;  // by choice
  bool allows_several_;
};

}  // namespace smelt
