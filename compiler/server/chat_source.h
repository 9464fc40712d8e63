// ChatSource: the chat template of the served model, and the format in which the model writes calls of tools.
#pragma once

#include <optional>
#include <string>

#include "compiler/cli/shared/chat_text.h"
#include "runtime/engine/serving/chat_request.h"
#include "runtime/tools/tool_format.h"

namespace smelt::server {

struct ChatSource {
  std::optional<cli::ChatText> text = {};                  // the template; empty: there is none
  std::string why_not = "the model has no chat template";  // error message if there is none
  const tools::ToolFormat* tools = nullptr;                // format of calls of tools; null: not known
  std::string why_no_tools = "";                           // error message if it is not known

  /// Throws ApiError if there is no template. Its message ends with `advice`.
  void require_template(const std::string& advice = "") const;
  /// Returns the prompt that the template makes of a chat. Throws Error if the template raises an exception
  /// or cannot be rendered. Requires: there is a template.
  std::string prompt_of(const ChatRequest& chat) const;
};

}  // namespace smelt::server
