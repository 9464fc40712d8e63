#include "compiler/server/request_maker.h"

#include <algorithm>
#include <random>
#include <utility>

#include "runtime/engine/serving/api_error.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::server {

RequestMaker::RequestMaker(const cli::PromptText& texts, const std::string& model)
    : texts_(texts),
      defaults_(completion_defaults(model)),
      constraints_([&texts] { return texts.token_bytes(); }) {}

CompletionRequest RequestMaker::read(std::string_view body) const {
  CompletionRequest request = read_completion_request(body, defaults_);
  request.options.seed = request.seed ? *request.seed : std::random_device()();
  return request;
}

std::vector<Request> RequestMaker::again(const AskedCompletion& asked) const {
  CompletionRequest request = read_completion_request(asked.body, defaults_);
  request.options.seed = asked.seed;
  return make(request, [](const Request&) {}).requests;
}

RequestMaker::Made RequestMaker::make(const CompletionRequest& request,
                                      const std::function<void(const Request&)>& check) const {
  Made made;
  for (const CompletionRequest::Prompt& prompt : request.prompts) {
    const Tokens tokens = tokens_of(request, prompt);
    made.prompt_tokens += tokens.size();
    const std::string echo = request.echo ? echo_of(prompt) : "";
    std::vector<size_t> begins;
    for (int64_t copy = 0; copy < request.best_of; ++copy) {
      made.requests.push_back(request_for(request, tokens, static_cast<size_t>(copy)));
      check(made.requests.back());
      if (copy == 0) begins = begins_of(request, tokens, echo);
      made.requests.back().prompt_begins = begins;
      made.echoes.push_back(echo);
    }
  }
  return made;
}

RequestMaker::Tokens RequestMaker::tokens_of(const CompletionRequest& request,
                                             const CompletionRequest::Prompt& prompt) const {
  if (!prompt.tokens.empty()) return prompt.tokens;
  try {
    return request.add_special_tokens ? texts_.encode(prompt.text) : texts_.encode(prompt.text, false);
  } catch (const Error& error) {
    throw ApiError(http::kBadRequest, error.what(), "prompt");
  }
}

std::string RequestMaker::echo_of(const CompletionRequest::Prompt& prompt) const {
  if (prompt.tokens.empty()) return prompt.text;
  return texts_.known() ? texts_.decode(prompt.tokens) : "";
}

/// Only log-probabilities of a prompt that is echoed have such numbers.
std::vector<size_t> RequestMaker::begins_of(const CompletionRequest& request, const Tokens& prompt,
                                            const std::string& echo) const {
  if (!request.echo || !request.log_probabilities || !texts_.known()) return {};
  const size_t whole = count_code_points(echo);
  const TextOfTokens text = texts_.stream(request.kept_special_tokens);
  std::vector<size_t> begins;
  size_t at = 0;
  for (const int32_t token : prompt) {
    begins.push_back(std::min(at, whole));
    at += count_code_points(text(token));
  }
  begins.push_back(whole);
  return begins;
}

/// The last tokens of the prompt are the context of the first new ones.
TextOfTokens RequestMaker::text_behind(const CompletionRequest& request, const Tokens& prompt) const {
  constexpr size_t kContext = 256;
  if (!texts_.known()) return {};
  TextOfTokens text = texts_.stream(request.kept_special_tokens);
  for (size_t i = prompt.size() - std::min(prompt.size(), kContext); i < prompt.size(); ++i) text(prompt[i]);
  return text;
}

std::shared_ptr<structured::ConstrainedText> RequestMaker::constrained_text(const CompletionRequest& request,
                                                                            const Tokens& prompt) const {
  if (!request.specification) return nullptr;
  return constraints_.text(*request.specification, request.options.eos_token_id, prompt);
}

Request RequestMaker::request_for(const CompletionRequest& request, const Tokens& prompt,
                                  size_t index) const {
  Request one{.prompt = prompt,
              .options = request.options,
              .index = index,
              .text = text_behind(request, prompt),
              .stop = request.stop,
              .constrained = constrained_text(request, prompt)};
  if (request.log_probabilities)
    one.log_probabilities = static_cast<size_t>(*request.log_probabilities);
  else if (request.best_of > request.n)
    one.log_probabilities = 0;  // by which choices are ranked
  if (const auto best = request.scored_prompt()) one.prompt_log_probabilities = static_cast<size_t>(*best);
  return one;
}

}  // namespace smelt::server
