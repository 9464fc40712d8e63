#include "compiler/server/request_maker.h"

#include <algorithm>
#include <random>
#include <utility>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/beam_text.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::server {

RequestMaker::RequestMaker(const cli::PromptText& texts, const std::string& model, bool reads_source)
    : texts_(texts),
      defaults_(completion_defaults(model)),
      reads_source_(reads_source),
      constraints_([&texts] { return texts.token_bytes(); }) {}

/// A source is not part of what the decoder writes.
void RequestMaker::refuse_of_others(const CompletionRequest& request) const {
  const char* name = !reads_source_                     ? nullptr
                     : request.echo                     ? "echo"
                     : request.prompt_log_probabilities ? "prompt_logprobs"
                                                        : nullptr;
  const char* why = "the prompt of an encoder-decoder is a source, and no part of its text";
  if (!reads_source_ && request.decoder_start_token_id)
    name = "decoder_start_token_id",
    why = "the model has no encoder, so the prompt is the decoder's beginning";
  if (name)
    throw ApiError(http::kBadRequest, fmt::format("{}: {}; expected no such field", name, why), name,
                   "unsupported_parameter");
}

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
  refuse_of_others(request);
  Made made;
  for (const CompletionRequest::Prompt& prompt : request.prompts) {
    const Tokens tokens = tokens_of(request, prompt);
    made.prompt_tokens += tokens.size();
    const std::string echo = request.echo ? echo_of(prompt) : "";
    std::vector<size_t> begins;
    for (int64_t copy = 0; copy < request.requests_per_prompt(); ++copy) {
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

/// A source is no context.
RequestMaker::Tokens RequestMaker::context_of(const Tokens& prompt) const {
  constexpr ptrdiff_t kContext = 256;
  if (reads_source_) return {};
  return {prompt.end() - std::min(std::ssize(prompt), kContext), prompt.end()};
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

TextOfTokens RequestMaker::text_behind(const std::vector<std::string>& kept, const Tokens& context) const {
  TextOfTokens text = texts_.stream(kept);
  for (const int32_t token : context) text(token);
  return text;
}

void RequestMaker::add_text(const CompletionRequest& request, const Tokens& prompt, Request& one) const {
  if (!texts_.known()) return;
  const auto begin = [this, kept = request.kept_special_tokens, context = context_of(prompt)] {
    return text_behind(kept, context);
  };
  if (request.beams > 1)
    one.text_of_beam = text_of_beam(begin);
  else
    one.text = begin();
}

std::shared_ptr<structured::ConstrainedText> RequestMaker::constrained_text(const CompletionRequest& request,
                                                                            const Tokens& prompt) const {
  if (!request.specification) return nullptr;
  return constraints_.text(*request.specification, request.options.eos_token_id, prompt);
}

Request RequestMaker::request_for(const CompletionRequest& request, const Tokens& prompt,
                                  size_t index) const {
  const int32_t start = request.decoder_start_token_id.value_or(request.options.decoder_start_token_id);
  const Tokens before = reads_source_ ? Tokens{start} : prompt;
  Request one{.prompt = before,
              .source = reads_source_ ? prompt : Tokens(),
              .options = request.options,
              .index = index,
              .stop = request.stop,
              .constrained = constrained_text(request, reads_source_ ? Tokens() : prompt)};
  add_text(request, prompt, one);
  if (request.log_probabilities)
    one.log_probabilities = static_cast<size_t>(*request.log_probabilities);
  else if (request.best_of > request.n && request.beams == 1)
    one.log_probabilities = 0;  // by which choices are ranked
  if (const auto best = request.scored_prompt()) one.prompt_log_probabilities = static_cast<size_t>(*best);
  return one;
}

}  // namespace smelt::server
