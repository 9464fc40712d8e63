#include "frontend/lora_option.h"

#include <fmt/ranges.h>

#include <set>
#include <string>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Kinds of values after "=", as in adapter_config.json.
enum class Kind : uint8_t { number, text, names, numbers, flag };

struct Key {
  llvm::StringLiteral key, field;
  Kind kind;
};

constexpr Key kKeys[] = {{"r", "r", Kind::number},
                         {"alpha", "lora_alpha", Kind::number},
                         {"dropout", "lora_dropout", Kind::number},
                         {"targets", "target_modules", Kind::names},
                         {"pattern", "target_modules", Kind::text},
                         {"exclude", "exclude_modules", Kind::names},
                         {"save", "modules_to_save", Kind::names},
                         {"layers", "layers_to_transform", Kind::numbers},
                         {"bias", "bias", Kind::text},
                         {"init", "init_lora_weights", Kind::text},
                         {"rslora", "use_rslora", Kind::flag}};

std::string known_keys() {
  std::vector<std::string> keys;
  for (const Key& key : kKeys) keys.push_back(key.key.str());
  return fmt::format("{}", fmt::join(keys, ", "));
}

Json parsed_number(llvm::StringRef text, llvm::StringRef key) {
  const Json value = parse_json_or_null(text.str());
  if (!value.is_number())
    fail("--lora: {} is '{}', expected a number", std::string_view(key), std::string_view(text));
  return value;
}

Json value_of(const Key& key, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  text.split(parts, '+', -1, false);
  Json list = Json::array();
  switch (key.kind) {
    case Kind::number:
      return parsed_number(text, key.key);
    case Kind::text:
      return text.str();
    case Kind::names:
      if (text == "all-linear") return text.str();
      for (llvm::StringRef part : parts) list.push_back(part.str());
      return list;
    case Kind::numbers:
      for (llvm::StringRef part : parts) list.push_back(parsed_number(part, key.key));
      return list;
    case Kind::flag:
      if (!text.empty() && text != "true" && text != "false")
        fail("--lora: {} is '{}', expected true, false or nothing", std::string_view(key.key),
             std::string_view(text));
      return text != "false";
  }
  return list;
}

void add_to(Json& json, llvm::StringRef part, std::set<std::string>& seen) {
  const auto [name, text] = part.split('=');
  const auto key = llvm::find_if(kKeys, [&](const Key& k) { return k.key == name; });
  if (key == std::end(kKeys))
    fail("--lora has no key '{}': expected one of {}, such as r=16,alpha=32,targets=q_proj+v_proj",
         std::string_view(name), known_keys());
  if (!seen.insert(key->field.str()).second)
    fail("--lora: {} is given twice; expected one value", std::string_view(name));
  if (key->kind != Kind::flag && text.empty()) fail("--lora: {} has no value", std::string_view(name));
  json[key->field.str()] = value_of(*key, text);
}

}  // namespace

LoraConfig parse_lora(std::string_view text) {
  Json json = {{"peft_type", "LORA"}, {"target_modules", Json::array()}};
  llvm::SmallVector<llvm::StringRef, 6> parts;
  llvm::StringRef(text).split(parts, ',', -1, false);
  std::set<std::string> seen;
  for (llvm::StringRef part : parts) add_to(json, part.trim(), seen);
  return lora_from_json(json, "--lora");
}

}  // namespace smelt
