#include "compiler/server/text_maker.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/engine/generation/generator.h"
#include "runtime/engine/serving/api_error.h"
#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::server {
namespace {

[[noreturn]] void refuse_text(const std::string& message, const char* field, const char* code) {
  throw ApiError(http::kBadRequest, message, field, code);
}

const char* field_of(const TextInput& input, TextTask task) {
  if (!input.second) return "input";
  return task == TextTask::rerank ? "documents" : "text_2";
}

std::string lower_text(const std::string& given) {
  const std::string text = repair_utf8(given);
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = code_point_at(text, at);
    char32_t place[2];
    for (const char32_t c : lower_case(code.value, place)) append_utf8(result, c);
    at += code.bytes;
  }
  return result;
}

}  // namespace

TextMaker::TextMaker(const cli::Model& model, SentenceModules modules, const TextMakerOptions& options)
    : modules_(std::move(modules)), options_(options) {
  if (!Tokenizer::files_in(model.path).empty()) {
    tokenizer_ = Tokenizer::load(model.path);
    tokenizer_->set_padding(std::nullopt);
  }
}

std::string TextMaker::prompt_of(const TextRequest& request) const {
  if (request.task != TextTask::embed) return "";
  if (request.prompt) return *request.prompt;
  const auto& name = request.prompt_name ? request.prompt_name : modules_.default_prompt;
  if (!name) return "";
  const auto found = modules_.prompts.find(*name);
  if (found != modules_.prompts.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, text] : modules_.prompts) names.push_back(known);
  refuse_text(fmt::format("prompt_name = {}: the model has {}", *name,
                          names.empty() ? "no prompts" : fmt::format("{}", fmt::join(names, ", "))),
              "prompt_name", "invalid_value");
}

std::vector<Request> TextMaker::make(const TextRequest& request) const {
  const std::string prompt = prompt_of(request);
  if (request.truncated_tokens && *request.truncated_tokens > static_cast<int64_t>(options_.capacity))
    refuse_text(fmt::format("truncate_prompt_tokens = {}: expected at most {}, or -1",
                            *request.truncated_tokens, options_.capacity),
                "truncate_prompt_tokens", "invalid_value");
  std::vector<Request> made;
  for (const TextInput& input : request.inputs) {
    made.push_back(make_one(input, request, prompt));
    const size_t tokens = made.back().prompt.size();
    if (tokens == 0)
      refuse_text("a text has no tokens: expected at least one", field_of(input, request.task),
                  "invalid_value");
    if (tokens > options_.capacity)
      refuse_text(fmt::format("text {} has {} tokens: expected at most {}; shorten it, or set "
                              "truncate_prompt_tokens to -1",
                              made.size() - 1, tokens, options_.capacity),
                  field_of(input, request.task), "context_length_exceeded");
  }
  return made;
}

size_t TextMaker::most_tokens(const TextRequest& request) const {
  return *request.truncated_tokens < 0 ? options_.capacity : static_cast<size_t>(*request.truncated_tokens);
}

/// Token ids are taken as they are, or from their beginning.
Request TextMaker::make_one(const TextInput& input, const TextRequest& request,
                            const std::string& prompt) const {
  Request made{.prompt = input.tokens, .options = {}};
  if (made.prompt.empty()) return make_of_text(input, request, prompt);
  if (request.truncated_tokens) made.prompt.resize(std::min(made.prompt.size(), most_tokens(request)));
  return made;
}

Request TextMaker::make_of_text(const TextInput& input, const TextRequest& request,
                                const std::string& prompt) const {
  Encoding encoding = tokenizer_ ? encoded(input, request, prompt) : encoded_bytes(input, request, prompt);
  for (const int32_t id : encoding.ids)
    if (id >= options_.vocabulary)
      fail_with(Status::internal,
                "the tokenizer gives token {}, and the model knows {}: it is another model's", id,
                options_.vocabulary);
  Request made{.prompt = std::move(encoding.ids), .options = {}};
  if (modules_.has_token_types) made.token_types = std::move(encoding.type_ids);
  if (!modules_.pools_prompt && !prompt.empty()) made.unpooled = prompt_tokens(prompt, request);
  return made;
}

EncodeOptions TextMaker::encode_options(const TextRequest& request) const {
  EncodeOptions options;
  options.add_special_tokens = options_.adds_special_tokens && request.add_special_tokens;
  return options;
}

/// The tokenizer truncates texts as its file says: at which side, and which text of a pair.
Encoding TextMaker::encoded(const TextInput& input, const TextRequest& request,
                            const std::string& prompt) const {
  Tokenizer tokenizer = *tokenizer_;
  std::optional<Truncation> truncation;
  if (request.truncated_tokens) {
    truncation = tokenizer_->truncation().value_or(Truncation());
    truncation->max_length = most_tokens(request);
  }
  tokenizer.set_truncation(truncation);
  try {
    const std::string text = cased(prompt + input.text);
    return input.second ? tokenizer.encode_pair(text, cased(*input.second), encode_options(request))
                        : tokenizer.encode(text, encode_options(request));
  } catch (const Error& error) {
    refuse_text(error.what(), truncation ? "truncate_prompt_tokens" : field_of(input, request.task),
                "invalid_value");
  }
}

/// A model whose tokens are bytes reads single texts.
Encoding TextMaker::encoded_bytes(const TextInput& input, const TextRequest& request,
                                  const std::string& prompt) const {
  const char* field = field_of(input, request.task);
  if (input.second)
    refuse_text("the model has no tokenizer, and pairs of texts need one", field, "invalid_value");
  Encoding encoding;
  try {
    encoding.ids = encode_bytes(prompt + input.text, options_.vocabulary);
  } catch (const Error& error) {
    refuse_text(error.what(), field, "invalid_value");
  }
  if (request.truncated_tokens) encoding.ids.resize(std::min(encoding.ids.size(), most_tokens(request)));
  return encoding;
}

/// Returns the number of tokens of a prompt alone, without a special token after it.
size_t TextMaker::prompt_tokens(const std::string& prompt, const TextRequest& request) const {
  if (!tokenizer_) return prompt.size();
  Tokenizer tokenizer = *tokenizer_;
  tokenizer.set_truncation(std::nullopt);
  const std::vector<int32_t> ids = tokenizer.encode(cased(prompt), encode_options(request)).ids;
  const bool ends_special = !ids.empty() && tokenizer.is_special(ids.back());
  return ids.size() - (ends_special ? 1 : 0);
}

std::string TextMaker::cased(const std::string& text) const {
  return modules_.lower_case ? lower_text(text) : text;
}

}  // namespace smelt::server
