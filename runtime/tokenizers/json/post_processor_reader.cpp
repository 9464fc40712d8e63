#include <limits>

#include "runtime/tokenizers/json/readers.h"

namespace smelt {
namespace {

bool is_id(const Json& json) {
  return json.is_number_unsigned() && json.get<uint64_t>() <= std::numeric_limits<int32_t>::max();
}

/// ["</s>", 2]
int32_t read_added(PartReader& part, std::string_view name) {
  const Json* pair = part.find(name);
  if (pair && pair->is_array() && pair->size() == 2 && is_id((*pair)[1])) return (*pair)[1].get<int32_t>();
  part.problem(name, "a token and its id");
  return 0;
}

std::vector<int32_t> read_special_ids(PartReader& part, const std::string& token) {
  const Json* special = part.find("special_tokens");
  const auto entry = special && special->is_object() ? special->find(token) : Json::const_iterator();
  std::vector<int32_t> ids;
  bool good = special && special->is_object() && entry != special->end() && entry->is_object() &&
              entry->contains("ids") && (*entry)["ids"].is_array();
  for (size_t i = 0; good && i < (*entry)["ids"].size(); ++i) {
    good = is_id((*entry)["ids"][i]);
    if (good) ids.push_back((*entry)["ids"][i].get<int32_t>());
  }
  if (!good) part.problem("special_tokens", "the ids of '" + token + "'");
  return ids;
}

std::optional<TemplatePiece> read_piece(PartReader& part, const Json& json) {
  if (!json.is_object() || json.size() != 1 || !json.begin()->is_object()) return std::nullopt;
  const Json& value = *json.begin();
  const Json id = value.value("id", Json()), type = value.value("type_id", Json());
  if (!id.is_string() || !is_id(type)) return std::nullopt;
  TemplatePiece piece;
  piece.type_id = type.get<int32_t>();
  if (json.contains("Sequence") && (id == "A" || id == "B"))
    piece.sequence = id == "A" ? 0 : 1;
  else if (json.contains("SpecialToken"))
    piece.ids = read_special_ids(part, id.get<std::string>());
  else
    return std::nullopt;
  return piece;
}

std::vector<TemplatePiece> read_template(PartReader& part, const char* name) {
  std::vector<TemplatePiece> pieces;
  const Json* list = part.list(name);
  for (size_t i = 0; list && i < list->size(); ++i) {
    if (auto piece = read_piece(part, (*list)[i]))
      pieces.push_back(std::move(*piece));
    else
      part.problem(name, "pieces {\"Sequence\": ...} and {\"SpecialToken\": ...} with id and type_id");
  }
  return pieces;
}

std::unique_ptr<PostProcessor> read_template_processing(PartReader& part) {
  part.ignore({"special_tokens"});
  auto single = read_template(part, "single"), pair = read_template(part, "pair");
  return template_processor(std::move(single), std::move(pair));
}

std::unique_ptr<PostProcessor> read_bert_post_processor(PartReader& part) {
  const int32_t cls = read_added(part, "cls"), sep = read_added(part, "sep");
  return bert_processor(cls, sep);
}

std::unique_ptr<PostProcessor> read_roberta_post_processor(PartReader& part) {
  const int32_t cls = read_added(part, "cls"), sep = read_added(part, "sep");
  const bool trim = part.flag("trim_offsets", true), space = part.flag("add_prefix_space", true);
  return roberta_processor(cls, sep, trim, space);
}

std::unique_ptr<PostProcessor> read_byte_level_post_processor(PartReader& part) {
  part.ignore({"use_regex"});
  const bool trim = part.flag("trim_offsets", true), space = part.flag("add_prefix_space", true);
  return byte_level_processor(trim, space);
}

constexpr PartType<PostProcessor> kPostProcessorTypes[] = {
    {"TemplateProcessing", read_template_processing},
    {"BertProcessing", read_bert_post_processor},
    {"RobertaProcessing", read_roberta_post_processor},
    {"ByteLevel", read_byte_level_post_processor},
    {"Sequence",
     [](PartReader& part) {
       return sequence_processor(read_sequence<PostProcessor>(part, "processors", read_post_processor));
     }},
};

}  // namespace

std::unique_ptr<PostProcessor> read_post_processor(const Json& json, const std::string& place,
                                                   Problems& problems) {
  return read_part(kPostProcessorTypes, json, place, problems);
}

}  // namespace smelt
