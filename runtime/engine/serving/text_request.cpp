#include "runtime/engine/serving/text_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/body_fields.h"

namespace smelt {
namespace {

constexpr int64_t kMostNumbers = int64_t{1} << 20;  // of dimensions and tokens

bool is_text_token(const Json& id) {
  return id.is_number_unsigned() && id.get<uint64_t>() <= static_cast<uint64_t>(INT32_MAX);
}

bool is_text_tokens(const Json& list) {
  return list.is_array() && !list.empty() && std::ranges::all_of(list, is_text_token);
}

bool is_whole_text(const Json& value) {
  return value.is_string() && !value.get_ref<const std::string&>().empty();
}

[[noreturn]] void refuse_count(const char* name, size_t count) {
  throw ApiError(http::kBadRequest, fmt::format("{}: {} texts; expected 1 to {}", name, count, kMostTexts),
                 name, "invalid_value");
}

/// Texts, of which none is empty: a text, or a list of texts or objects {"text": ...}.
std::vector<std::string> texts_of(const char* name, const Json& value, bool may_be_one) {
  if (value.is_string() && !may_be_one) BodyFields::wrong(name, value, "a list of texts");
  const Json list = value.is_string() ? Json::array({value}) : value;
  if (!list.is_array())
    BodyFields::wrong(name, value, may_be_one ? "a text, or a list of texts" : "a list of texts");
  if (list.empty() || list.size() > kMostTexts) refuse_count(name, list.size());
  std::vector<std::string> texts;
  for (const Json& each : list) {
    const bool is_object = each.is_object() && each.size() == 1 && each.contains("text");
    const Json& text = is_object ? each["text"] : each;
    if (!is_whole_text(text))
      BodyFields::wrong(name, each, "texts, none of them empty, or objects {\"text\": TEXT}");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

TextInput input_of(const Json& value) {
  if (is_whole_text(value)) return {.text = value.get<std::string>(), .second = {}, .tokens = {}};
  if (is_text_tokens(value)) return {.text = "", .second = {}, .tokens = value.get<std::vector<int32_t>>()};
  BodyFields::wrong("input", value, "a text that is not empty, or a list of at least one token id");
}

/// A text, a list of texts, a list of tokens, or a list of such lists.
std::vector<TextInput> inputs_of(const Json& value) {
  if (value.is_string() || is_text_tokens(value)) return {input_of(value)};
  if (!value.is_array())
    BodyFields::wrong("input", value, "a text, a list of texts, token ids, or a list of lists of them");
  if (value.empty() || value.size() > kMostTexts) refuse_count("input", value.size());
  std::vector<TextInput> inputs;
  for (const Json& each : value) inputs.push_back(input_of(each));
  return inputs;
}

TextInput pair_of(std::string first, std::string second) {
  return {.text = std::move(first), .second = std::move(second), .tokens = {}};
}

/// One text with each of the others, or the texts of two lists in pairs.
std::vector<TextInput> pairs_of(const BodyFields& body) {
  const auto firsts = texts_of("text_1", body.required("text_1"), true),
             seconds = texts_of("text_2", body.required("text_2"), true);
  if (firsts.size() != 1 && firsts.size() != seconds.size())
    BodyFields::wrong("text_1", firsts.size(),
                      fmt::format("one text, or {}, as many as text_2 has", seconds.size()));
  std::vector<TextInput> pairs;
  for (size_t i = 0; i < seconds.size(); ++i)
    pairs.push_back(pair_of(firsts.size() == 1 ? firsts[0] : firsts[i], seconds[i]));
  return pairs;
}

constexpr std::initializer_list<const char*> kShared = {"model", "user", "truncate_prompt_tokens"};

void read_shared(const BodyFields& body, TextRequest& request) {
  request.model = body.text("model");
  body.text("user");
  request.truncated_tokens = body.whole("truncate_prompt_tokens", -1, kMostNumbers);
  if (request.truncated_tokens == 0)
    BodyFields::wrong("truncate_prompt_tokens", 0, "a whole number from 1 on, or -1");
}

void read_embedding(const BodyFields& body, TextRequest& request) {
  body.require_known({kShared,
                      {"input", "encoding_format", "dimensions", "add_special_tokens", "normalize",
                       "prompt_name", "prompt"}});
  request.inputs = inputs_of(body.required("input"));
  const std::string format = body.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64")
    BodyFields::wrong("encoding_format", format, "float or base64");
  request.base64 = format == "base64";
  request.dimensions = body.whole("dimensions", 1, kMostNumbers);
  request.normalizes = body.flag("normalize");
  request.prompt_name = body.text("prompt_name"), request.prompt = body.text("prompt");
  if (request.prompt && request.prompt_name)
    BodyFields::wrong("prompt", *request.prompt, "none next to prompt_name");
  const bool has_prompt = request.prompt || request.prompt_name;
  if (has_prompt && std::ranges::any_of(request.inputs, [](const TextInput& x) { return !x.tokens.empty(); }))
    BodyFields::wrong(request.prompt ? "prompt" : "prompt_name", request.prompt.value_or(""),
                      "none for an input of token ids");
  request.add_special_tokens = body.flag("add_special_tokens").value_or(true);
}

void read_classification(const BodyFields& body, TextRequest& request) {
  body.require_known({kShared, {"input", "add_special_tokens", "use_activation"}});
  request.inputs = inputs_of(body.required("input"));
  request.add_special_tokens = body.flag("add_special_tokens").value_or(true);
}

void read_score(const BodyFields& body, TextRequest& request) {
  body.require_known({kShared, {"text_1", "text_2", "use_activation"}});
  request.inputs = pairs_of(body);
}

void read_rerank(const BodyFields& body, TextRequest& request) {
  body.require_known({kShared, {"query", "documents", "top_n", "return_documents", "use_activation"}});
  const auto query = texts_of("query", body.required("query"), true);
  if (query.size() != 1 || !body.find("query")->is_string())
    BodyFields::wrong("query", *body.find("query"), "a text");
  for (std::string& document : texts_of("documents", body.required("documents"), false))
    request.inputs.push_back(pair_of(query[0], std::move(document)));
  request.most = body.whole("top_n", 0, kMostNumbers);
  if (request.most == 0) request.most.reset();  // as in vLLM
  request.returns_documents = body.flag("return_documents").value_or(true);
}

}  // namespace

TextRequest read_text_request(TextTask task, std::string_view text) {
  const BodyFields body(text);
  TextRequest request{.task = task};
  read_shared(body, request);
  switch (task) {
    case TextTask::embed:
      read_embedding(body, request);
      break;
    case TextTask::classify:
      read_classification(body, request);
      break;
    case TextTask::score:
      read_score(body, request);
      break;
    case TextTask::rerank:
      read_rerank(body, request);
      break;
  }
  if (task != TextTask::embed) request.raw_scores = !body.flag("use_activation").value_or(true);
  return request;
}

}  // namespace smelt
