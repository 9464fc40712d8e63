#include "runtime/tokenizers/tokenizer_config.h"

#include "runtime/base/error.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokens[] = {"bos_token",
                                   "eos_token",
                                   "unk_token",
                                   "sep_token",
                                   "pad_token",
                                   "cls_token",
                                   "mask_token",
                                   "additional_special_tokens",
                                   "extra_special_tokens",
                                   "added_tokens_decoder"};

/// A token is a text or an object with its content; tokens are a list or an object of them.
void add_tokens(const Json& value, const std::string& file, std::vector<NamedToken>& tokens) {
  const auto content = value.is_object() ? value.find("content") : value.end();
  if (value.is_string())
    tokens.push_back({value.get<std::string>(), file});
  else if (value.is_object() && content != value.end())
    add_tokens(*content, file, tokens);
  else if (value.is_array() || value.is_object())
    for (const Json& each : value) add_tokens(each, file, tokens);
}

/// An empty object where there is no such file.
Json read_object(const fs::path& file) {
  if (!fs::is_regular_file(file)) return Json::object();
  Json json = read_json_file(file);
  if (!json.is_object())
    fail_with(Status::invalid_file, "{}: {}, expected an object", file.string(), kind_of(json));
  return json;
}

void add_named(const Json& json, const std::string& file, TokenizerConfig& config) {
  for (const char* key : kTokens)
    if (const auto value = json.find(key); value != json.end()) add_tokens(*value, file, config.tokens);
}

template <typename T>
bool is(const Json& json, const char* key, const T& value) {
  const auto found = json.find(key);
  return found != json.end() && *found == value;
}

}  // namespace

TokenizerConfig read_tokenizer_config(const fs::path& directory) {
  TokenizerConfig config;
  const Json json = read_object(directory / "tokenizer_config.json");
  add_named(json, "tokenizer_config.json", config);
  add_named(read_object(directory / "special_tokens_map.json"), "special_tokens_map.json", config);
  const Json added = read_object(directory / "added_tokens.json");
  for (const auto& [text, id] : added.items()) config.tokens.push_back({text, "added_tokens.json"});
  config.splits_special_tokens = is(json, "split_special_tokens", true);
  const bool has_space = is(json, "add_prefix_space", true);
  if ((is(json, "tokenizer_class", "GPT2Tokenizer") || is(json, "tokenizer_class", "GPT2TokenizerFast")) &&
      (has_space || is(json, "add_prefix_space", false)))
    config.puts_space_before = has_space;
  return config;
}

}  // namespace smelt
