#include "runtime/base/error.h"
#include "runtime/tokenizers/base64.h"
#include "runtime/tokenizers/json/readers.h"

namespace smelt {
namespace {

std::unique_ptr<Normalizer> read_bert_normalizer(PartReader& part) {
  BertNormalizerOptions options;
  options.clean_text = part.flag("clean_text", true);
  options.handle_chinese_chars = part.flag("handle_chinese_chars", true);
  options.lowercase = part.flag("lowercase", true);
  options.strip_accents = part.flag("strip_accents", options.lowercase);
  return bert_normalizer(options);
}

std::unique_ptr<Normalizer> read_strip_normalizer(PartReader& part) {
  const bool left = part.flag("strip_left", true), right = part.flag("strip_right", true);
  return strip_normalizer(left, right);
}

std::unique_ptr<Normalizer> read_replace_normalizer(PartReader& part) {
  auto pattern = read_pattern(part);
  std::string content = part.text("content", "");
  return pattern ? replace_normalizer(std::move(pattern), std::move(content)) : nullptr;
}

std::unique_ptr<Normalizer> read_precompiled_normalizer(PartReader& part) {
  const auto bytes = decode_base64(part.text("precompiled_charsmap", ""));
  if (!bytes) {
    part.problem("precompiled_charsmap", "base64");
    return nullptr;
  }
  try {
    return precompiled_normalizer(Charsmap(*bytes, part.place()));
  } catch (const Error& error) {
    part.problems().add(error.what());
    return nullptr;
  }
}

template <NormalForm form>
std::unique_ptr<Normalizer> read_form_normalizer(PartReader&) {
  return form_normalizer(form);
}

constexpr PartType<Normalizer> kNormalizerTypes[] = {
    {"BertNormalizer", read_bert_normalizer},
    {"NFC", read_form_normalizer<NormalForm::nfc>},
    {"NFD", read_form_normalizer<NormalForm::nfd>},
    {"NFKC", read_form_normalizer<NormalForm::nfkc>},
    {"NFKD", read_form_normalizer<NormalForm::nfkd>},
    {"Lowercase", [](PartReader&) { return lowercase_normalizer(); }},
    {"Strip", read_strip_normalizer},
    {"StripAccents", [](PartReader&) { return strip_accents_normalizer(); }},
    {"Nmt", [](PartReader&) { return nmt_normalizer(); }},
    {"Prepend", [](PartReader& part) { return prepend_normalizer(part.text("prepend", "")); }},
    {"Replace", read_replace_normalizer},
    {"Precompiled", read_precompiled_normalizer},
    {"ByteLevel", [](PartReader&) { return byte_level_normalizer(); }},
    {"Sequence",
     [](PartReader& part) {
       return sequence_normalizer(read_sequence<Normalizer>(part, "normalizers", read_normalizer));
     }},
};

}  // namespace

std::unique_ptr<Normalizer> read_normalizer(const Json& json, const std::string& place, Problems& problems) {
  return read_part(kNormalizerTypes, json, place, problems);
}

std::unique_ptr<Pattern> read_pattern(PartReader& part) try {
  const Json* pattern = part.find("pattern");
  if (pattern && pattern->is_object() && pattern->size() == 1 && pattern->begin()->is_string()) {
    const auto text = pattern->begin()->get<std::string>();
    if (pattern->contains("String")) return literal_pattern(text);
    if (pattern->contains("Regex")) return regex_pattern(text);
  }
  part.problem("pattern", "{\"String\": ...} or {\"Regex\": ...}");
  return nullptr;
} catch (const Error& error) {
  part.problems().add(part.place() + ".pattern: " + error.what());
  return nullptr;
}

}  // namespace smelt
