#include "compiler/server/chat_source.h"

#include "runtime/engine/serving/api_error.h"

namespace smelt::server {

void ChatSource::require_template(const std::string& advice) const {
  if (!text) throw ApiError(http::kBadRequest, why_not + advice, "messages", "unsupported_endpoint");
}

std::string ChatSource::prompt_of(const ChatRequest& chat) const {
  return text->render({.messages = chat.messages,
                       .tools = chat.tools.list,
                       .documents = chat.documents,
                       .variables = chat.variables,
                       .add_generation_prompt = chat.add_generation_prompt,
                       .continue_final_message = chat.continue_final_message});
}

}  // namespace smelt::server
