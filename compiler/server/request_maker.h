// Makes the requests of a batch from the body of POST /v1/completions. Given the seed, the requests are the
// same at every rank.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cli/shared/prompt_text.h"
#include "compiler/server/turns.h"
#include "runtime/engine/serving/completion_request.h"

namespace smelt::server {

class RequestMaker {
 public:
  /// `model` is its own description (Plan::model).
  RequestMaker(const cli::PromptText& texts, const std::string& model);

  /// A body that names no seed gets another result each time. Throws ApiError.
  CompletionRequest read(std::string_view body) const;

  struct Made {
    std::vector<Request> requests;
    std::vector<std::string> echoes;  // what stands before each choice's text
    size_t prompt_tokens = 0;
  };
  /// `check` is called with each request before there are more copies of what may be long, and may throw.
  Made make(const CompletionRequest& request, const std::function<void(const Request&)>& check) const;
  /// Returns the requests that `make` made of a body at another rank.
  std::vector<Request> again(const AskedCompletion& asked) const;

 private:
  using Tokens = std::vector<int32_t>;
  Tokens tokens_of(const CompletionRequest& request, const CompletionRequest::Prompt& prompt) const;
  std::string echo_of(const CompletionRequest::Prompt& prompt) const;
  TextOfTokens text_behind(const Tokens& prompt) const;
  Request request_for(const CompletionRequest& request, const Tokens& prompt, size_t index) const;

  const cli::PromptText& texts_;
  const GenerationOptions defaults_;
};

}  // namespace smelt::server
