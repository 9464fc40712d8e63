// Readers of the parts of tokenizer.json. Each returns null if the part is JSON null or not supported. A part
// that is not supported is added to `problems`. `place` is the path of the part in the file, for messages.
#pragma once

#include <memory>
#include <string>

#include "runtime/tokenizers/json/part_reader.h"
#include "runtime/tokenizers/tokenizer_parts.h"

namespace smelt {

std::unique_ptr<Normalizer> read_normalizer(const Json& json, const std::string& place, Problems& problems);
std::unique_ptr<PreTokenizer> read_pre_tokenizer(const Json& json, const std::string& place,
                                                 Problems& problems);
std::unique_ptr<TokenModel> read_token_model(const Json& json, const std::string& place, Problems& problems);
std::unique_ptr<PostProcessor> read_post_processor(const Json& json, const std::string& place,
                                                   Problems& problems);
std::unique_ptr<TokenDecoder> read_decoder(const Json& json, const std::string& place, Problems& problems);

/// Reads the field "pattern" of a part: {"String": ...} or {"Regex": ...}.
std::unique_ptr<Pattern> read_pattern(PartReader& part);
/// Reads the text of a tokenizer.json. Throws Error (invalid_file) with all problems. `file` is the name of
/// the file in messages.
TokenizerParts read_tokenizer_json(std::string_view text, std::string_view file);
/// Does the same for the parsed text.
TokenizerParts read_tokenizer_object(const Json& json, std::string_view file);

/// Reads the elements of the list `name` with read(element, place, problems). Elements for which `read`
/// returns null are left out of the result.
template <typename Part, typename Read>
std::vector<std::unique_ptr<Part>> read_sequence(PartReader& part, const char* name, Read read) {
  std::vector<std::unique_ptr<Part>> parts;
  const Json* list = part.list(name);
  for (size_t i = 0; list && i < list->size(); ++i) {
    auto element =
        read((*list)[i], part.place() + "." + name + "[" + std::to_string(i) + "]", part.problems());
    if (element) parts.push_back(std::move(element));
  }
  return parts;
}

/// The name of a type of parts, and the function that reads such a part.
template <typename Part>
struct PartType {
  const char* name;
  std::unique_ptr<Part> (*read)(PartReader&);
};

/// Reads a part with the function of its type. Returns null if `json` is JSON null. If it is no object, or if
/// its type is not in `types`, adds a problem and returns null.
template <typename Part, size_t N>
std::unique_ptr<Part> read_part(const PartType<Part> (&types)[N], const Json& json, const std::string& place,
                                Problems& problems) {
  if (json.is_null()) return nullptr;
  PartReader part(json, place, problems);
  if (!json.is_object()) return nullptr;
  for (const PartType<Part>& type : types)
    if (part.type() == type.name) return type.read(part);
  part.unsupported_type();
  return nullptr;
}

}  // namespace smelt
