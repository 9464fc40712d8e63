// TokenService: the replies to POST /tokenize and POST /detokenize, in vLLM's form.
#pragma once

#include <cstddef>
#include <string>

#include "compiler/cli/shared/prompt_text.h"
#include "compiler/server/chat_source.h"
#include "runtime/engine/serving/token_request.h"

namespace smelt::server {

/// Thread-safe.
class TokenService {
 public:
  /// `capacity`: the most tokens of a prompt and its answer, or of the source of an encoder-decoder.
  /// `vocabulary`: the number of token ids. The
  /// references must outlive the service.
  TokenService(const cli::PromptText& texts, const ChatSource& chats, size_t capacity, int64_t vocabulary)
      : texts_(texts), chats_(chats), capacity_(capacity), vocabulary_(vocabulary) {}

  /// Returns {"count", "max_model_len", "tokens", "token_strs"} as JSON text; token_strs is null unless it is
  /// requested. Throws ApiError if the model has no tokenizer or, for a chat, no template.
  std::string tokenize(const TokenizeRequest& request) const;
  /// Returns {"prompt"} as JSON text. Special tokens are part of the text. Throws ApiError if the model has
  /// no tokenizer, or for an id outside the vocabulary.
  std::string detokenize(const DetokenizeRequest& request) const;

 private:
  void require_texts(const char* param) const;

  const cli::PromptText& texts_;
  const ChatSource& chats_;
  size_t capacity_;
  int64_t vocabulary_;
};

}  // namespace smelt::server
