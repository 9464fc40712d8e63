// Prompts from the command line, or many from a file.
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

/// Returns one prompt per line: the line itself, or, in a file whose name ends in .jsonl, .ndjson or .json,
/// an object with a member `prompt` (a text) or `ids` (a list of token ids). Blank lines are skipped. Throws
/// Error that names the line where it is not UTF-8, or no such object.
std::vector<GivenPrompt> read_prompt_file(const std::filesystem::path& path);

}  // namespace smelt::cli
