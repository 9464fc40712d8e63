// Prompts as they were given: on the command line, or many in a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace smelt::cli {

struct GivenPrompt {
  std::string text;                         // where there are no ids
  std::optional<std::vector<int32_t>> ids;  // at least one
  std::string place;                        // "prompts.txt, line 3"; empty on the command line
  int64_t line = 0;                         // of the file, from 1

  bool is_text() const { return !ids; }
};

/// A prompt a line: the line itself, or, of a file whose name ends in .jsonl, .ndjson or .json, an object
/// with a member `prompt` (a text) or `ids` (a list of token ids). Blank lines are passed over. Throws Error
/// that names the line where it is no UTF-8, or no such object.
std::vector<GivenPrompt> read_prompt_file(const std::filesystem::path& path);

}  // namespace smelt::cli
