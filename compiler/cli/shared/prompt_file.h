// Prompts that come from the command line, or from a file with one prompt per line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace smelt::cli {

/// A prompt, which is a text or a list of token ids.
struct GivenPrompt {
  std::string text;                         // empty if there are ids
  std::optional<std::vector<int32_t>> ids;  // at least one id
  std::string place;  // location for messages, "prompts.txt, line 3"; empty: from the command line
  int64_t line = 0;   // line number in the file, from 1; 0: from the command line

  bool is_text() const { return !ids; }
};

/// Reads one prompt per line. The prompt is the text of the line. If the file's name ends in .jsonl, .ndjson
/// or .json, the line is instead an object with a member `prompt` (a text) or `ids` (a list of token ids).
/// Blank lines are skipped. Throws Error with the line's number if the line is not UTF-8 or not such an
/// object, and Error if the file has no prompt.
std::vector<GivenPrompt> read_prompt_file(const std::filesystem::path& path);

}  // namespace smelt::cli
