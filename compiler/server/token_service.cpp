#include "compiler/server/token_service.h"

#include <utility>

#include "runtime/engine/serving/api_error.h"
#include "runtime/system/json_text.h"

namespace smelt::server {
namespace {

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

void TokenService::require_texts(const char* param) const {
  if (!texts_.known())
    throw ApiError(http::kBadRequest, "the model has no tokenizer, so its tokens have no texts", param,
                   "unsupported_endpoint");
}

std::string TokenService::tokenize(const TokenizeRequest& request) const {
  require_texts("prompt");
  if (request.chat) chats_.require_template();
  const std::string text = request.chat ? chats_.prompt_of(*request.chat) : request.prompt;
  const Generator::Tokens tokens =
      request.add_special_tokens ? texts_.encode(text) : texts_.encode(text, false);
  Json names = nullptr;
  if (request.return_token_strs) {
    names = Json::array();
    for (const int32_t token : tokens) names.push_back(texts_.name_of(token));
  }
  return dump({{"count", tokens.size()},
               {"max_model_len", capacity_},
               {"tokens", tokens},
               {"token_strs", std::move(names)}});
}

std::string TokenService::detokenize(const DetokenizeRequest& request) const {
  require_texts("tokens");
  for (const int32_t token : request.tokens)
    if (token >= vocabulary_)
      throw ApiError(http::kBadRequest,
                     fmt::format("tokens: {} is outside the model's vocabulary of {}", token, vocabulary_),
                     "tokens", "invalid_value");
  Json reply = Json::object();
  reply["prompt"] = texts_.decode(request.tokens, /*skips_special=*/false);
  return dump(reply);
}

}  // namespace smelt::server
