// Comparison of a tokenizer with golden.jsonl: lines of JSON with a text and the results of Hugging Face's
// tokenizer for it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/system/json_text.h"
#include "runtime/tokenizers/tokenizer.h"

namespace smelt {

/// Reads the lines of golden.jsonl in a directory.
inline std::vector<Json> read_golden(const std::filesystem::path& directory) {
  std::vector<Json> lines;
  std::ifstream file(directory / "golden.jsonl");
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

/// Returns a description of all results that differ from a line of golden.jsonl; "" if none does.
inline std::string differences(const Tokenizer& tokenizer, const Json& golden) {
  const auto text = golden.at("text").get<std::string>();
  std::string found;
  const auto compare = [&](const char* name, const Json& ours) {
    if (golden.contains(name) && golden[name] != ours)
      found += std::string(" ") + name + " " + ours.dump() + " for " + golden[name].dump();
  };
  const bool marian = golden.contains("target_ids");
  const Encoding whole = tokenizer.encode(text);
  if (marian) {
    EncodeOptions target;
    target.target = true;
    const Encoding translated = tokenizer.encode(text, target);
    compare("ids", whole.ids);
    compare("target_ids", translated.ids);
    compare("decoded", tokenizer.decode(translated.ids));
    compare("decoded_source", tokenizer.decode(whole.ids));
  } else {
    EncodeOptions plain;
    plain.add_special_tokens = false;
    const Encoding bare = tokenizer.encode(text, plain);
    Json offsets = Json::array();
    for (const TextRange& range : bare.offsets) offsets.push_back({range.begin, range.end});
    compare("ids", bare.ids);
    compare("ids_special", whole.ids);
    compare("offsets", offsets);
    compare("decoded", tokenizer.decode(whole.ids));
    compare("decoded_all", tokenizer.decode(whole.ids, false));
  }
  return found;
}

}  // namespace smelt
