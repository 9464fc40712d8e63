#include "runtime/engine/serving/chat_calls.h"

#include <utility>

namespace smelt {

ChatCalls::ChatCalls(const tools::ToolFormat& format, bool allows_several, const std::string& answer,
                     size_t choices)
    : allows_several_(allows_several) {
  for (size_t choice = 0; choice < choices; ++choice)
    parsers_.emplace_back(format, [&format, answer, choice](size_t index) {
      return tools::call_id(format, answer, choice, index);
    });
}

tools::ParsedPiece ChatCalls::divide(size_t choice, const Progress& fresh) {
  tools::ParsedPiece piece = parsers_[choice].push(fresh.text);
  if (fresh.finish != Finish::none) append(piece, parsers_[choice].finish());
  if (!allows_several_)
    std::erase_if(piece.calls, [](const tools::CallPiece& call) { return call.index > 0; });
  return piece;
}

}  // namespace smelt
