// tokenizer.json as a whole.
#include "runtime/base/error.h"
#include "runtime/tokenizers/json/readers.h"

namespace smelt {
namespace {

constexpr uint64_t kLongest = 1u << 30;

Side read_side(PartReader& part) {
  const std::string side = part.text("direction", "Right");
  if (side != "Left" && side != "Right") part.problem("direction", "Left or Right");
  return side == "Left" ? Side::left : Side::right;
}

size_t read_length(PartReader& part, const char* name, size_t otherwise) {
  const uint64_t length = part.count(name, otherwise);
  if (length > kLongest) part.problem(name, "a length");
  return static_cast<size_t>(std::min(length, kLongest));
}

Truncation read_truncation(const Json& json, Problems& problems) {
  using Strategy = Truncation::Strategy;
  PartReader part(json, "truncation", problems);
  part.ignore({"stride"});  // of the parts that are cut off
  Truncation truncation;
  truncation.side = read_side(part);
  truncation.max_length = read_length(part, "max_length", 512);
  const std::string strategy = part.text("strategy", "LongestFirst");
  if (strategy == "OnlyFirst")
    truncation.strategy = Strategy::only_first;
  else if (strategy == "OnlySecond")
    truncation.strategy = Strategy::only_second;
  else if (strategy != "LongestFirst")
    part.problem("strategy", "LongestFirst, OnlyFirst or OnlySecond");
  return truncation;
}

int32_t read_id(PartReader& part, const char* name) {
  const uint64_t id = part.count(name, 0);
  if (id > kLongest) part.problem(name, "an id");
  return static_cast<int32_t>(std::min(id, kLongest));
}

Padding read_padding(const Json& json, Problems& problems) {
  PartReader part(json, "padding", problems);
  part.ignore({"pad_token"});
  Padding padding;
  padding.side = read_side(part);
  padding.multiple_of = read_length(part, "pad_to_multiple_of", 1);
  padding.id = read_id(part, "pad_id");
  padding.type_id = read_id(part, "pad_type_id");
  const Json* strategy = part.find("strategy");
  if (!strategy || *strategy == "BatchLongest") return padding;
  const bool fixed = strategy->is_object() && strategy->size() == 1 && strategy->contains("Fixed") &&
                     (*strategy)["Fixed"].is_number_unsigned() &&
                     (*strategy)["Fixed"].get<uint64_t>() <= kLongest;
  if (fixed)
    padding.length = (*strategy)["Fixed"].get<size_t>();
  else
    part.problem("strategy", "BatchLongest or {\"Fixed\": length}");
  return padding;
}

/// Ids follow from the vocabulary and the order; those in the file are not read, as Hugging Face does not.
std::vector<AddedToken> read_added_tokens(const Json& json, Problems& problems) {
  std::vector<AddedToken> tokens;
  if (!json.is_array() && !json.is_null()) problems.add("added_tokens: expected a list");
  for (size_t i = 0; json.is_array() && i < json.size(); ++i) {
    PartReader part(json[i], "added_tokens[" + std::to_string(i) + "]", problems);
    part.ignore({"id"});
    AddedToken token;
    token.content = part.text("content", "");
    token.single_word = part.flag("single_word", false);
    token.lstrip = part.flag("lstrip", false);
    token.rstrip = part.flag("rstrip", false);
    token.normalized = part.flag("normalized", true);
    token.special = part.flag("special", false);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

template <typename Part>
using Reader = std::unique_ptr<Part> (*)(const Json&, const std::string&, Problems&);

template <typename Part>
void read_if_given(PartReader& file, const char* name, Reader<Part> read, std::unique_ptr<Part>& part) {
  if (const Json* json = file.find(name)) part = read(*json, name, file.problems());
}

void read_parts(const Json& json, Problems& problems, TokenizerParts& parts) {
  PartReader file(json, "tokenizer", problems);
  if (const std::string version = file.text("version", "1.0"); version != "1.0")
    file.problem("version", "1.0");
  read_if_given(file, "normalizer", read_normalizer, parts.normalizer);
  read_if_given(file, "pre_tokenizer", read_pre_tokenizer, parts.pre_tokenizer);
  read_if_given(file, "post_processor", read_post_processor, parts.post_processor);
  read_if_given(file, "decoder", read_decoder, parts.decoder);
  if (!file.find("model")) file.problem("model", "a model");
  read_if_given(file, "model", read_token_model, parts.model);
  if (const Json* truncation = file.find("truncation"))
    parts.truncation = read_truncation(*truncation, problems);
  if (const Json* padding = file.find("padding")) parts.padding = read_padding(*padding, problems);
  const Json* added = file.find("added_tokens");
  const auto tokens = read_added_tokens(added ? *added : Json(), problems);
  if (parts.model)
    parts.added_tokens = AddedTokens(tokens, parts.model->vocabulary(), parts.normalizer.get());
}

}  // namespace

TokenizerParts read_tokenizer_json(std::string_view text, std::string_view file) {
  return read_tokenizer_object(parse_json(text, file), file);
}

TokenizerParts read_tokenizer_object(const Json& json, std::string_view file) {
  TokenizerParts parts;
  Problems problems;
  read_parts(json, problems, parts);
  problems.require_none(file);
  return parts;
}

}  // namespace smelt
