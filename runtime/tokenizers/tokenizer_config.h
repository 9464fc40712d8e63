// Settings of the files next to a tokenizer.json: tokenizer_config.json, special_tokens_map.json and
// added_tokens.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace smelt {

/// A special token and the file that names it.
struct NamedToken {
  std::string text, file;
};

struct TokenizerConfig {
  std::vector<NamedToken> tokens;         // all that the files name
  bool splits_special_tokens = false;     // special tokens in a text are plain text
  std::optional<bool> puts_space_before;  // of a GPT-2: in place of what tokenizer.json says
};

/// Reads the files that are there. Throws Error if one of them is no JSON object.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& directory);

}  // namespace smelt
