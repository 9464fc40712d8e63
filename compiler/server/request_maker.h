// RequestMaker: converts the body of POST /v1/completions to requests of the continuous batch. The same body
// and seed give the same requests on every rank.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cli/shared/prompt_text.h"
#include "compiler/server/turns.h"
#include "runtime/engine/serving/completion_request.h"
#include "runtime/structured/text_constraints.h"

namespace smelt::server {

class RequestMaker {
 public:
  /// `model` is the model's description as JSON text (Plan::model), which contains the default options of
  /// generation. `reads_source`: the model has an encoder, which reads the prompts. `capacity`: the most
  /// tokens of a request (RequestBatch::capacity). `texts` must outlive the object.
  RequestMaker(const cli::PromptText& texts, const std::string& model, bool reads_source, size_t capacity);

  /// Parses a body. If it has no seed, a random one is set in the result's `options`. Throws ApiError if the
  /// body is invalid.
  CompletionRequest read(std::string_view body) const;
  bool reads_source() const { return reads_source_; }

  struct Made {
    std::vector<Request> requests;
    std::vector<std::string> echoes;  // by request: the prompt's text if the body sets `echo`, else empty
    size_t prompt_tokens = 0;         // tokens of all prompts; a prompt with several choices is counted once
  };
  /// Makes one request per choice, or one per beam search: first the `best_of` choices of the first prompt,
  /// then those of the second, and so on. Calls `check` with each request before it makes the next one, so
  /// that a body with long prompts is refused early; `check` throws to refuse the body.
  Made make(const CompletionRequest& request, const std::function<void(const Request&)>& check) const;
  /// Makes the requests for a body and a seed that rank 0 has sent. They equal those that make() returned on
  /// rank 0.
  std::vector<Request> again(const AskedCompletion& asked) const;

  using Tokens = std::vector<int32_t>;
  /// Returns the tokens of one of the request's prompts. Throws ApiError if it cannot be encoded.
  Tokens tokens_of(const CompletionRequest& request, const CompletionRequest::Prompt& prompt) const;

 private:
  CompletionRequest parse(std::string_view body) const;
  /// Adds the token sequences of the request's bad words to the sequences that its options forbid.
  void add_bad_words(CompletionRequest& request) const;
  /// Returns the most tokens of a prompt that are read.
  size_t most_tokens(const CompletionRequest& request) const;
  /// Throws ApiError if the body has a field that is for decoders, and the model is an encoder-decoder, or
  /// the other way round.
  void refuse_of_others(const CompletionRequest& request) const;
  std::string echo_of(const CompletionRequest& request, const CompletionRequest::Prompt& prompt,
                      const Tokens& tokens) const;
  /// Returns the number of characters of the echo before each token of the prompt, and of the whole echo.
  std::vector<size_t> begins_of(const CompletionRequest& request, const Tokens& prompt,
                                const std::string& echo) const;
  /// Returns the last tokens of the prompt, which are the context of the first new ones.
  Tokens context_of(const Tokens& prompt) const;
  /// Returns the function that converts new tokens after the context to text. Special tokens are part of it
  /// if `kept` has them, or if `skips_special` is false.
  TextOfTokens text_behind(const std::vector<std::string>& kept, bool skips_special,
                           const Tokens& context) const;
  /// Sets the function of the request that converts new tokens to text, if there is a tokenizer.
  void add_text(const CompletionRequest& request, const Tokens& prompt, Request& one) const;
  Request request_for(const CompletionRequest& request, const Tokens& prompt, size_t index) const;
  std::shared_ptr<structured::ConstrainedText> constrained_text(const CompletionRequest& request,
                                                                const Tokens& prompt) const;

  const cli::PromptText& texts_;
  const GenerationOptions defaults_;
  const bool reads_source_;
  const size_t capacity_;
  mutable structured::TextConstraints constraints_;
};

}  // namespace smelt::server
