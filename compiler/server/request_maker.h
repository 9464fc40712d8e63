// Conversion of the body of POST /v1/completions to the requests of a batch. Equal bodies and seeds give
// equal requests on every rank.
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
  /// `model` is the model's description as JSON text (Plan::model), which contains the default options of
  /// generation. `texts` must outlive the object.
  RequestMaker(const cli::PromptText& texts, const std::string& model);

  /// Parses a body. If it has no seed, a random one is set in the result's `options`. Throws ApiError if the
  /// body is invalid.
  CompletionRequest read(std::string_view body) const;

  struct Made {
    std::vector<Request> requests;
    std::vector<std::string> echoes;  // by request: the prompt's text if the body sets `echo`, else empty
    size_t prompt_tokens = 0;         // of all prompts, each counted once
  };
  /// Makes one request per choice: `n` of each prompt, prompt by prompt. `check` is called with each request
  /// before the next one is made, because prompts may be long; it may throw to refuse the body.
  Made make(const CompletionRequest& request, const std::function<void(const Request&)>& check) const;
  /// Returns the requests that make() returned for this body on another rank.
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
