#include "runtime/engine/serving/completion_request.h"

#include <charconv>
#include <cmath>

#include "runtime/engine/serving/api_error.h"
#include "runtime/plan/plan_model.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

constexpr int64_t kDefaultTokens = 16, kMostTokens = 1 << 24, kMostLogProbabilities = 20;

[[noreturn]] void wrong(const char* name, const Json& value, const char* expected) {
  throw ApiError(http::kBadRequest, fmt::format("{} = {}: expected {}", name, brief(value), expected), name,
                 "invalid_value");
}

bool is_token(const Json& id) {
  return id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() <= INT32_MAX;
}

bool is_token_list(const Json& list) { return list.is_array() && std::ranges::all_of(list, is_token); }

bool is_text_list(const Json& list) {
  return list.is_array() && std::ranges::all_of(list, [](const Json& each) { return each.is_string(); });
}

/// Reads a body field by field; a null field counts as missing.
class BodyReader {
 public:
  BodyReader(const Json& body, CompletionRequest& request) : body_(body), request_(request) {}

  void read() {
    for (const auto& [name, value] : body_.items()) require_known(name);
    bound_lists();
    read_prompt();
    read_choices();
    read_lengths();
    read_distribution();
    read_stops();
    read_kept_tokens();
    read_allowed_tokens();
    read_bad_words();
    read_priority();
    read_biases();
    read_stream();
    refuse_others();
    read_beams();
    read_generation_options_of_transformers();
  }

 private:
  static constexpr const char* kOwn[] = {"model",
                                         "prompt",
                                         "max_tokens",
                                         "temperature",
                                         "top_p",
                                         "n",
                                         "stream",
                                         "stream_options",
                                         "logprobs",
                                         "prompt_logprobs",
                                         "echo",
                                         "stop",
                                         "stop_token_ids",
                                         "include_stop_str_in_output",
                                         "ignore_eos",
                                         "min_tokens",
                                         "skip_special_tokens",
                                         "truncate_prompt_tokens",
                                         "bad_words",
                                         "allowed_token_ids",
                                         "priority",
                                         "seed",
                                         "user",
                                         "best_of",
                                         "suffix",
                                         "presence_penalty",
                                         "frequency_penalty",
                                         "logit_bias",
                                         "add_special_tokens",
                                         "decoder_start_token_id",
                                         "use_beam_search",
                                         "beam_width",
                                         "length_penalty",
                                         "early_stopping",
                                         "keep_special_tokens"};
  static constexpr const char* kOfBeams[] = {"beam_width", "length_penalty", "early_stopping"};
  static constexpr int64_t kLeastBeams = 2;
  /// Read by read_generation_config, under transformers' names.
  static constexpr const char* kTransformers[] = {"top_k",
                                                  "min_p",
                                                  "repetition_penalty",
                                                  "encoder_repetition_penalty",
                                                  "no_repeat_ngram_size",
                                                  "encoder_no_repeat_ngram_size",
                                                  "min_new_tokens",
                                                  "min_length",
                                                  "bad_words_ids",
                                                  "sequence_bias",
                                                  "suppress_tokens",
                                                  "begin_suppress_tokens",
                                                  "eos_token_id",
                                                  "forced_bos_token_id",
                                                  "forced_eos_token_id",
                                                  "exponential_decay_length_penalty",
                                                  "remove_invalid_values"};

  static void require_known(const std::string& name) {
    if (std::ranges::count(kOwn, name) + std::ranges::count(kTransformers, name) > 0) return;
    if (std::ranges::count(structured::kSpecificationMembers, name) > 0) return;
    throw ApiError(http::kBadRequest, fmt::format("there is no option '{}'", name), name,
                   "unknown_parameter");
  }

  const Json* given(const char* name) const {
    const auto it = body_.find(name);
    return it == body_.end() || it->is_null() ? nullptr : &*it;
  }

  std::optional<int64_t> whole(const char* name, int64_t least, int64_t most, const char* expected) const {
    const Json* value = given(name);
    if (!value) return std::nullopt;
    const bool fits =
        value->is_number_integer() && !(value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX);
    if (!fits || value->get<int64_t>() < least || value->get<int64_t>() > most) wrong(name, *value, expected);
    return value->get<int64_t>();
  }

  std::optional<double> number(const char* name, double least, double most, const char* expected) const {
    const Json* value = given(name);
    if (!value) return std::nullopt;
    if (!value->is_number() || !(value->get<double>() >= least && value->get<double>() <= most))
      wrong(name, *value, expected);
    return value->get<double>();
  }

  bool flag(const char* name, bool otherwise) const {
    const Json* value = given(name);
    if (value && !value->is_boolean()) wrong(name, *value, "true or false");
    return value ? value->get<bool>() : otherwise;
  }

  static constexpr const char* kLists[] = {"logit_bias",     "sequence_bias",       "bad_words_ids",
                                           "stop_token_ids", "suppress_tokens",     "begin_suppress_tokens",
                                           "eos_token_id",   "forced_eos_token_id", "allowed_token_ids"};

  /// Numbers and empty lists, of which a list may have any depth that the parser lets through.
  static size_t count_leaves(const Json& value) {
    if (!value.is_structured()) return 1;
    size_t count = value.empty() ? 1 : 0;
    for (const Json& each : value) count += count_leaves(each);
    return count;
  }

  /// Checks the sizes of lists before any copy.
  void bound_lists() const {
    size_t ids = 0;
    for (const char* name : kLists) {
      const Json* value = given(name);
      if (!value) continue;
      const bool has_sequences = value->is_object() || (value->is_array() && !is_token_list(*value));
      if (has_sequences && value->size() > kMostSequencesOfIds)
        too_long(name, fmt::format("{} entries: expected at most {}", value->size(), kMostSequencesOfIds));
      ids += count_leaves(*value);
      if (ids > kMostIds)
        too_long(name, fmt::format("more than {} token ids and biases in all lists together", kMostIds));
    }
  }

  [[noreturn]] static void too_long(const char* name, const std::string& why) {
    throw ApiError(http::kBadRequest, fmt::format("{}: {}", name, why), name, "invalid_value");
  }

  /// A text, a list of texts, a list of tokens, or a list of such lists.
  void read_prompt() {
    const Json* prompt = given("prompt");
    if (!prompt)
      throw ApiError(http::kBadRequest, "there is no prompt", "prompt", "missing_required_parameter");
    if (prompt->is_string() || (is_token_list(*prompt) && !prompt->empty())) return add_prompt(*prompt);
    if (!prompt->is_array() || prompt->empty() || std::ssize(*prompt) > kMostChoices)
      wrong("prompt", *prompt, "a text, token ids, or a list of at most 128 of them");
    for (const Json& each : *prompt) add_prompt(each);
  }

  void add_prompt(const Json& prompt) {
    if (prompt.is_string())
      request_.prompts.push_back({prompt.get<std::string>(), {}});
    else if (is_token_list(prompt) && !prompt.empty())
      request_.prompts.push_back({"", prompt.get<std::vector<int32_t>>()});
    else
      wrong("prompt", prompt, "a text, or a list of at least one token id");
  }

  void read_choices() {
    request_.n = whole("n", 1, kMostChoices, "a whole number from 1 to 128").value_or(1);
    request_.best_of = whole("best_of", 1, kMostChoices, "a whole number from 1 to 128").value_or(request_.n);
    if (request_.best_of < request_.n) wrong("best_of", request_.best_of, "at least n");
    if (request_.best_of > request_.n && flag("stream", false))
      wrong("best_of", request_.best_of, "n in a stream, because choices are ranked when all have ended");
    if (request_.best_of * std::ssize(request_.prompts) > kMostChoices)
      wrong(given("best_of") ? "best_of" : "n", request_.best_of,
            "at most 128 choices of all prompts together");
    request_.echo = flag("echo", false);
    request_.add_special_tokens = flag("add_special_tokens", true);
    read_truncation();
    request_.log_probabilities = whole("logprobs", 0, kMostLogProbabilities, "a whole number from 0 to 20");
    read_prompt_log_probabilities();
    if (const auto seed = whole("seed", INT64_MIN, INT64_MAX, "a whole number"))
      request_.seed = static_cast<uint32_t>(*seed ^ (*seed >> 32));
    request_.decoder_start_token_id = whole("decoder_start_token_id", 0, INT32_MAX, "a token id");
    if (const Json* model = given("model")) {
      if (!model->is_string()) wrong("model", *model, "a name");
      request_.model = model->get<std::string>();
    }
  }

  void read_truncation() {
    constexpr const char* kExpected = "a whole number from 1 on, or -1";
    request_.truncated_tokens = whole("truncate_prompt_tokens", -1, kMostTokens, kExpected);
    if (request_.truncated_tokens == 0) wrong("truncate_prompt_tokens", 0, kExpected);
  }

  /// One number of best tokens is computed for the prompt, so echoed log-probabilities must have the same.
  void read_prompt_log_probabilities() {
    request_.prompt_log_probabilities =
        whole("prompt_logprobs", 0, kMostLogProbabilities, "a whole number from 0 to 20");
    const auto& own = request_.prompt_log_probabilities;
    if (own && request_.echo && request_.log_probabilities && own != request_.log_probabilities)
      wrong("prompt_logprobs", *own, "as many as logprobs, which are echoed");
    if (own && flag("stream", false)) wrong("prompt_logprobs", *own, "none in a stream");
  }

  void read_lengths() {
    request_.options.max_new_tokens =
        whole("max_tokens", 0, kMostTokens, "a whole number from 0 to 16777216").value_or(kDefaultTokens);
    const auto least = whole("min_tokens", 0, kMostTokens, "a whole number from 0 to 16777216");
    if (!least) return;
    if (*least > request_.options.max_new_tokens) wrong("min_tokens", *least, "at most max_tokens");
    if (given("min_new_tokens")) wrong("min_tokens", *least, "no min_new_tokens beside it");
    request_.options.min_new_tokens = request_.min_tokens = *least;
  }

  void read_distribution() {
    GenerationOptions& options = request_.options;
    constexpr double kHottest = 2;
    options.temperature =
        number("temperature", 0, kHottest, "a number from 0 to 2").value_or(options.temperature);
    options.top_p = number("top_p", 0, 1, "a number in (0, 1]").value_or(options.top_p);
    if (options.top_p == 0) wrong("top_p", 0, "a number in (0, 1]");
    options.presence_penalty = token_penalty("presence_penalty");
    options.frequency_penalty = token_penalty("frequency_penalty");
  }

  double token_penalty(const char* name) const {
    return number(name, -kMostTokenPenalty, kMostTokenPenalty, "a number from -2 to 2").value_or(0);
  }

  void read_stops() {
    if (const Json* stop = given("stop")) {
      const Json list = stop->is_string() ? Json::array({*stop}) : *stop;
      if (!is_text_list(list) || std::ssize(list) > kMostStops || std::ranges::count(list, Json("")) > 0)
        wrong("stop", *stop, "a text, or a list of at most 16, none of them empty");
      request_.stop = list.get<std::vector<std::string>>();
      for (const std::string& text : request_.stop)
        if (text.size() > kMostStopBytes)
          too_long("stop",
                   fmt::format("a text of {} bytes: expected at most {}", text.size(), kMostStopBytes));
    }
    if (const Json* ids = given("stop_token_ids")) {
      if (!is_token_list(*ids)) wrong("stop_token_ids", *ids, "a list of token ids");
      stop_tokens_ = ids->get<std::vector<int32_t>>();
    }
    request_.includes_stop = flag("include_stop_str_in_output", false);
  }

  /// Leaves the tokens of stop_token_ids as the only end tokens.
  void read_ignored_ends() {
    if (!flag("ignore_eos", false)) return;
    if (given("eos_token_id")) wrong("ignore_eos", true, "no eos_token_id beside it");
    request_.options.eos_token_id.clear();
  }

  void read_allowed_tokens() {
    const Json* ids = given("allowed_token_ids");
    if (!ids) return;
    if (!is_token_list(*ids) || ids->empty())
      wrong("allowed_token_ids", *ids, "a list of at least one token id");
    request_.options.allowed_token_ids = ids->get<std::vector<int32_t>>();
  }

  void read_bad_words() {
    const Json* words = given("bad_words");
    if (!words) return;
    const auto is_wrong = [](const Json& word) {
      const auto& text = word.get_ref<const std::string&>();
      return text.size() > kMostStopBytes || text.find_first_not_of(' ') == std::string::npos;
    };
    if (!is_text_list(*words) || std::ssize(*words) > kMostBadWords || std::ranges::any_of(*words, is_wrong))
      wrong("bad_words", *words, "a list of at most 128 texts of at most 256 bytes, none of them empty");
    request_.bad_words = words->get<std::vector<std::string>>();
  }

  void read_priority() {
    request_.priority = static_cast<int32_t>(
        whole("priority", INT32_MIN, INT32_MAX, "a whole number of 32 bits").value_or(0));
  }

  void read_kept_tokens() {
    request_.skips_special_tokens = flag("skip_special_tokens", true);
    const Json* tokens = given("keep_special_tokens");
    if (!tokens) return;
    const auto is_long = [](const Json& token) { return token.get<std::string>().size() > kMostStopBytes; };
    if (!is_text_list(*tokens) || std::ssize(*tokens) > kMostKeptTokens ||
        std::ranges::any_of(*tokens, is_long))
      wrong("keep_special_tokens", *tokens, "a list of at most 16 texts of at most 256 bytes");
    request_.kept_special_tokens = tokens->get<std::vector<std::string>>();
  }

  /// {"token id": bias}
  void read_biases() {
    const Json* biases = given("logit_bias");
    if (!biases) return;
    constexpr const char* kExpected = "an object of token ids with numbers from -100 to 100";
    constexpr double kMost = 100;
    if (!biases->is_object()) wrong("logit_bias", *biases, kExpected);
    for (const auto& [name, bias] : biases->items()) {
      int32_t id = 0;
      const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), id);
      if (fault != std::errc{} || end != name.data() + name.size() || id < 0 || !bias.is_number() ||
          !(std::abs(bias.get<double>()) <= kMost))
        wrong("logit_bias", *biases, kExpected);
      request_.options.sequence_bias.push_back({{id}, bias.get<double>()});
    }
  }

  void read_stream() {
    request_.stream = flag("stream", false);
    const Json* options = given("stream_options");
    if (!options) return;
    if (!request_.stream || !options->is_object())
      wrong("stream_options", *options, "an object, and that stream is true");
    for (const auto& [name, value] : options->items())
      if (name != "include_usage" || !value.is_boolean())
        wrong("stream_options", *options, "include_usage alone, true or false");
    request_.include_usage = options->value("include_usage", false);
  }

  /// Refuses fields that are not supported, unless they have no effect.
  void refuse_others() const {
    if (const Json* suffix = given("suffix"); suffix && *suffix != Json(""))
      wrong("suffix", *suffix, "none: texts are only continued");
    if (const Json* user = given("user"); user && !user->is_string()) wrong("user", *user, "a text");
  }

  /// vLLM's fields of a beam search. best_of, or else n, are the beams if beam_width is missing.
  void read_beams() {
    if (!flag("use_beam_search", false)) {
      for (const char* name : kOfBeams)
        if (const Json* value = given(name)) wrong(name, *value, "use_beam_search = true beside it");
      return;
    }
    const auto width = whole("beam_width", kLeastBeams, kMostBeams, "a whole number from 2 to 64");
    if (width && given("best_of") && *width != request_.best_of)
      wrong("beam_width", *width, "as many as best_of");
    request_.beams = width.value_or(request_.best_of);
    if (request_.beams < kLeastBeams || request_.beams > kMostBeams)
      wrong("use_beam_search", request_.beams, "2 to 64 beams, by beam_width, best_of or n");
    if (request_.n > request_.beams) wrong("n", request_.n, "at most as many as beams");
    refuse_beside_beams();
    GenerationOptions& options = request_.options;
    options.num_beams = request_.beams, options.num_return_sequences = request_.n, options.do_sample = false;
    for (const char* name : {"length_penalty", "early_stopping"})
      if (const Json* value = given(name)) read_one_of_transformers(name, *value);
  }

  /// A search draws nothing, has scores of whole sequences, and replaces its tokens until it ends.
  void refuse_beside_beams() const {
    constexpr const char* kNone = "none beside use_beam_search";
    if (request_.stream)
      wrong("stream", true,
            "false with use_beam_search, because sequences are known when the search has ended");
    for (const char* name : {"logprobs", "prompt_logprobs", "stop"})
      if (const Json* value = given(name)) wrong(name, *value, kNone);
    for (const char* name : structured::kSpecificationMembers)
      if (const Json* value = given(name)) wrong(name, *value, kNone);
    if (request_.includes_stop) wrong("include_stop_str_in_output", true, kNone);
    for (const auto& [name, neutral] :
         {std::pair("temperature", 0), {"top_p", 1}, {"top_k", 0}, {"min_p", 0}})
      if (const Json* value = given(name); value && *value != Json(neutral) && !is_every_token(name, *value))
        wrong(name, *value, "no value that draws tokens beside use_beam_search");
    if (request_.options.max_new_tokens == 0) wrong("max_tokens", 0, "at least 1 with use_beam_search");
  }

  void read_generation_options_of_transformers() {
    GenerationOptions& options = request_.options;
    for (const char* name : kTransformers)
      if (const Json* value = given(name))
        read_one_of_transformers(name, is_every_token(name, *value) ? Json(0) : *value);
    read_ignored_ends();
    options.eos_token_id.insert(options.eos_token_id.end(), stop_tokens_.begin(), stop_tokens_.end());
  }

  /// Returns whether the field is vLLM's form of transformers' top_k of 0.
  static bool is_every_token(std::string_view name, const Json& value) {
    return name == "top_k" && value == -1;
  }

  void read_one_of_transformers(const char* name, const Json& value) {
    try {
      const std::vector<SequenceBias> biases = request_.options.sequence_bias;
      read_generation_config(Json{{name, value}}.dump(), request_.options);
      if (name == std::string_view("sequence_bias"))
        request_.options.sequence_bias.insert(request_.options.sequence_bias.end(), biases.begin(),
                                              biases.end());
      request_.options.validate();
    } catch (const Error& error) {
      throw ApiError(http::kBadRequest, error.what(), name, "invalid_value");
    }
  }

  const Json& body_;
  CompletionRequest& request_;
  std::vector<int32_t> stop_tokens_;
};

Json parse_body(std::string_view text) {
  try {
    Json body = parse_json(text, "the body");
    if (body.is_object()) return body;
  } catch (const Error& error) {
    throw ApiError(http::kBadRequest, error.what(), "", "invalid_json");
  }
  throw ApiError(http::kBadRequest, "the body: expected a JSON object", "", "invalid_json");
}

/// The order of a schema's properties is that of the text.
std::optional<structured::Specification> specification_of(const Json& body, std::string_view text) {
  const auto is_given = [&](const char* name) { return body.contains(name); };
  if (std::ranges::none_of(structured::kSpecificationMembers, is_given)) return std::nullopt;
  nlohmann::ordered_json ordered = parse_ordered_json(text, "the body");
  return structured::take_specification(ordered);
}

}  // namespace

GenerationOptions completion_defaults(std::string_view model) {
  GenerationOptions options = model_generation_options(model);
  const Json about = read_plan_model(model);
  const Json own = about.is_null() ? Json::object() : about.value("generation", Json::object());
  if (!own.contains("top_k")) options.top_k = 0;
  options.do_sample = true;
  options.want_one_sequence();
  return options;
}

CompletionRequest read_completion_request(std::string_view text, const GenerationOptions& defaults) {
  const Json body = parse_body(text);
  CompletionRequest request;
  request.options = defaults;
  BodyReader(body, request).read();
  request.specification = specification_of(body, text);
  return request;
}

}  // namespace smelt
