// Settings from the files next to a tokenizer.json: tokenizer_config.json, special_tokens_map.json and
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

/// The settings from these files.
struct TokenizerConfig {
  std::vector<NamedToken> tokens;      // all special and added tokens that the files name
  bool splits_special_tokens = false;  // true: special tokens in a text are encoded as ordinary text
  /// The setting add_prefix_space of a GPT-2 tokenizer. Nothing if the files do not have it, or if the
  /// tokenizer is of another kind. If the setting contradicts tokenizer.json, Tokenizer::load throws Error.
  std::optional<bool> puts_space_before;
};

/// Reads the files that exist in the directory. Throws Error if one of them is no JSON object.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& directory);

}  // namespace smelt
