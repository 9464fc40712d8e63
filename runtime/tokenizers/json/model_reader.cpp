#include <cmath>
#include <limits>

#include "runtime/base/error.h"
#include "runtime/tokenizers/json/readers.h"

namespace smelt {
namespace {

constexpr uint64_t kLargestId = std::numeric_limits<int32_t>::max() / 2;

std::optional<Vocabulary> read_vocabulary(PartReader& part) {
  const Json* json = part.find("vocab");
  if (!json || !json->is_object()) {
    part.problem("vocab", "an object of tokens and ids");
    return std::nullopt;
  }
  Vocabulary vocabulary;
  for (const auto& [token, id] : json->items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > kLargestId) {
      part.problem("vocab", "ids of at least 0 and the id of '" + token + "' to be one");
      return std::nullopt;
    }
    vocabulary.add(token, id.get<int32_t>());
  }
  return vocabulary;
}

/// "a b" or ["a", "b"]
std::optional<std::pair<std::string, std::string>> read_merge(const Json& json) {
  if (json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_string())
    return std::pair(json[0].get<std::string>(), json[1].get<std::string>());
  if (!json.is_string()) return std::nullopt;
  const auto& text = json.get_ref<const std::string&>();
  const size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) return std::nullopt;
  return std::pair(text.substr(0, space), text.substr(space + 1));
}

bool read_merges(PartReader& part, BpeOptions& options) {
  const Json* merges = part.list("merges");
  for (size_t i = 0; merges && i < merges->size(); ++i) {
    const Json& json = (*merges)[i];
    if (json.is_string() && json.get_ref<const std::string&>().starts_with("#version")) continue;
    auto merge = read_merge(json);
    if (!merge) {
      part.problem("merges", "merges of two tokens, and number " + std::to_string(i) + " to be one");
      return false;
    }
    options.merges.push_back(std::move(*merge));
  }
  return merges != nullptr;
}

std::unique_ptr<TokenModel> read_bpe_model(PartReader& part) {
  BpeOptions options;
  options.unk_token = part.optional_text("unk_token");
  options.continuing_subword_prefix = part.text("continuing_subword_prefix", "");
  options.end_of_word_suffix = part.text("end_of_word_suffix", "");
  options.fuse_unk = part.flag("fuse_unk", false);
  options.byte_fallback = part.flag("byte_fallback", false);
  options.ignore_merges = part.flag("ignore_merges", false);
  const Json* dropout = part.find("dropout");
  if (dropout && (!dropout->is_number() || dropout->get<double>() != 0))
    part.problem("dropout", "none: it is random");
  auto vocabulary = read_vocabulary(part);
  if (!read_merges(part, options) || !vocabulary) return nullptr;
  return bpe_model(std::move(*vocabulary), options);
}

bool read_pieces(PartReader& part, UnigramOptions& options) {
  const Json* list = part.list("vocab");
  for (size_t i = 0; list && i < list->size(); ++i) {
    const Json& json = (*list)[i];
    const bool good = json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_number() &&
                      std::isfinite(json[1].get<double>());
    if (!good) {
      part.problem("vocab", "pieces with scores, and number " + std::to_string(i) + " to be one");
      return false;
    }
    options.pieces.push_back({json[0].get<std::string>(), json[1].get<double>()});
  }
  return list != nullptr;
}

std::unique_ptr<TokenModel> read_unigram_model(PartReader& part) {
  UnigramOptions options;
  options.byte_fallback = part.flag("byte_fallback", false);
  if (!read_pieces(part, options)) return nullptr;
  if (part.find("unk_id")) {
    const uint64_t id = part.count("unk_id", 0);
    if (id >= options.pieces.size()) part.problem("unk_id", "the id of a piece");
    options.unk_id = static_cast<int32_t>(std::min<uint64_t>(id, kLargestId));
  }
  return unigram_model(options);
}

std::unique_ptr<TokenModel> read_word_piece_model(PartReader& part) {
  WordPieceOptions options;
  options.unk_token = part.text("unk_token", options.unk_token);
  options.continuing_subword_prefix =
      part.text("continuing_subword_prefix", options.continuing_subword_prefix);
  options.max_input_chars_per_word = part.count("max_input_chars_per_word", options.max_input_chars_per_word);
  auto vocabulary = read_vocabulary(part);
  return vocabulary ? word_piece_model(std::move(*vocabulary), std::move(options)) : nullptr;
}

std::unique_ptr<TokenModel> read_word_level_model(PartReader& part) {
  std::string unk_token = part.text("unk_token", "<unk>");
  auto vocabulary = read_vocabulary(part);
  return vocabulary ? word_level_model(std::move(*vocabulary), std::move(unk_token)) : nullptr;
}

constexpr PartType<TokenModel> kModelTypes[] = {{"BPE", read_bpe_model},
                                                {"Unigram", read_unigram_model},
                                                {"WordPiece", read_word_piece_model},
                                                {"WordLevel", read_word_level_model}};

/// Files of old versions do not name the type.
std::string type_by_fields(const Json& json) {
  if (json.contains("merges")) return "BPE";
  if (json.contains("vocab") && json["vocab"].is_array()) return "Unigram";
  return json.contains("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

}  // namespace

std::unique_ptr<TokenModel> read_token_model(const Json& json, const std::string& place, Problems& problems) {
  PartReader part(json, place, problems);
  if (!json.is_object()) return nullptr;
  const std::string name = json.contains("type") ? part.type() : type_by_fields(json);
  for (const PartType<TokenModel>& type : kModelTypes)
    if (name == type.name) return type.read(part);
  part.unsupported_type();
  return nullptr;
}

}  // namespace smelt
