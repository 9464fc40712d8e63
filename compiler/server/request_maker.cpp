#include "compiler/server/request_maker.h"

#include <algorithm>
#include <random>
#include <span>
#include <utility>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/beam_text.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::server {

RequestMaker::RequestMaker(const cli::PromptText& texts, const std::string& model, bool reads_source,
                           size_t capacity)
    : texts_(texts),
      defaults_(completion_defaults(model)),
      reads_source_(reads_source),
      capacity_(capacity),
      constraints_([&texts] { return texts.token_bytes(); }) {}

/// A source is not part of what the decoder writes.
void RequestMaker::refuse_of_others(const CompletionRequest& request) const {
  const char* name = !reads_source_                     ? nullptr
                     : request.echo                     ? "echo"
                     : request.prompt_log_probabilities ? "prompt_logprobs"
                     : request.truncated_tokens         ? "truncate_prompt_tokens"
                     : !request.bad_words.empty()       ? "bad_words"
                                                        : nullptr;
  const char* why = "the prompt of an encoder-decoder is a source, and no part of its text";
  if (!reads_source_ && request.decoder_start_token_id)
    name = "decoder_start_token_id",
    why = "the model has no encoder, so the prompt is the decoder's beginning";
  if (name)
    throw ApiError(http::kBadRequest, fmt::format("{}: {}; expected no such field", name, why), name,
                   "unsupported_parameter");
}

CompletionRequest RequestMaker::parse(std::string_view body) const {
  CompletionRequest request = read_completion_request(body, defaults_);
  refuse_of_others(request);
  add_bad_words(request);
  return request;
}

CompletionRequest RequestMaker::read(std::string_view body) const {
  CompletionRequest request = parse(body);
  request.options.seed = request.seed ? *request.seed : std::random_device()();
  return request;
}

std::vector<Request> RequestMaker::again(const AskedCompletion& asked) const {
  CompletionRequest request = parse(asked.body);
  request.options.seed = asked.seed;
  return make(request, [](const Request&) {}).requests;
}

RequestMaker::Made RequestMaker::make(const CompletionRequest& request,
                                      const std::function<void(const Request&)>& check) const {
  Made made;
  for (const CompletionRequest::Prompt& prompt : request.prompts) {
    const Tokens tokens = tokens_of(request, prompt);
    made.prompt_tokens += tokens.size();
    const std::string echo = request.echo ? echo_of(request, prompt, tokens) : "";
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
  const size_t most = most_tokens(request);
  if (!prompt.tokens.empty()) {
    const auto last = std::span(prompt.tokens).last(std::min(prompt.tokens.size(), most));
    return {last.begin(), last.end()};
  }
  const bool adds = request.add_special_tokens && texts_.adds_special_tokens();
  try {
    return request.truncated_tokens ? texts_.encode_end(prompt.text, adds, most)
                                    : texts_.encode(prompt.text, adds);
  } catch (const Error& error) {
    throw ApiError(http::kBadRequest, error.what(), "prompt");
  }
}

/// At least one token has to be read.
size_t RequestMaker::most_tokens(const CompletionRequest& request) const {
  if (!request.truncated_tokens) return SIZE_MAX;
  if (*request.truncated_tokens > 0) return static_cast<size_t>(*request.truncated_tokens);
  const auto fresh = static_cast<size_t>(std::max<int64_t>(request.options.max_new_tokens, 1));
  return fresh > capacity_ ? 1 : capacity_ + 1 - fresh;
}

/// A word has other tokens after a space than at the beginning of a text, if the tokenizer writes the space
/// as part of a token. Then both are forbidden, as in vLLM.
void RequestMaker::add_bad_words(CompletionRequest& request) const {
  size_t ids = 0;
  const auto add = [&](Tokens word) {
    ids += word.size();
    if (ids > kMostIds)
      throw ApiError(http::kBadRequest, fmt::format("bad_words: more than {} token ids", kMostIds),
                     "bad_words", "invalid_value");
    request.options.bad_words_ids.push_back(std::move(word));
  };
  try {
    for (const std::string& word : request.bad_words) {
      const std::string bare = word.substr(word.find_first_not_of(' '));
      const Tokens first = texts_.encode(bare, false), inside = texts_.encode(" " + bare, false);
      if (first.empty()) continue;
      add(first);
      if (inside.size() == first.size() && inside.front() != first.front()) add(inside);
    }
  } catch (const ApiError&) {
    throw;
  } catch (const Error& error) {
    throw ApiError(http::kBadRequest, error.what(), "bad_words", "invalid_value");
  }
}

/// A truncated prompt is echoed as the model has read it.
std::string RequestMaker::echo_of(const CompletionRequest& request, const CompletionRequest::Prompt& prompt,
                                  const Tokens& tokens) const {
  if (prompt.tokens.empty() && !request.truncated_tokens) return prompt.text;
  return texts_.known() ? texts_.decode(tokens, request.skips_special_tokens) : "";
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
  const TextOfTokens text = texts_.stream(request.kept_special_tokens, request.skips_special_tokens);
  std::vector<size_t> begins;
  size_t at = 0;
  for (const int32_t token : prompt) {
    begins.push_back(std::min(at, whole));
    at += count_code_points(text(token));
  }
  begins.push_back(whole);
  return begins;
}

TextOfTokens RequestMaker::text_behind(const std::vector<std::string>& kept, bool skips_special,
                                       const Tokens& context) const {
  TextOfTokens text = texts_.stream(kept, skips_special);
  for (const int32_t token : context) text(token);
  return text;
}

void RequestMaker::add_text(const CompletionRequest& request, const Tokens& prompt, Request& one) const {
  if (!texts_.known()) return;
  const auto begin = [this, kept = request.kept_special_tokens, skips = request.skips_special_tokens,
                      context = context_of(prompt)] { return text_behind(kept, skips, context); };
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
              .unstopped_tokens = static_cast<size_t>(request.min_tokens),
              .includes_stop = request.includes_stop,
              .constrained = constrained_text(request, reads_source_ ? Tokens() : prompt),
              .priority = request.priority};
  add_text(request, prompt, one);
  if (request.log_probabilities)
    one.log_probabilities = static_cast<size_t>(*request.log_probabilities);
  else if (request.best_of > request.n && request.beams == 1)
    one.log_probabilities = 0;  // by which choices are ranked
  if (const auto best = request.scored_prompt()) one.prompt_log_probabilities = static_cast<size_t>(*best);
  return one;
}

}  // namespace smelt::server
