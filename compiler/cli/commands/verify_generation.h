// The output of generation with a model directory in transformers, as record_generation.py writes it:
// generation.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/engine/generation/generator.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {

struct GenerationCase {
  std::string name;
  Json options;  // by Hugging Face's names
  std::vector<Generator::Tokens> prompts, masks;
  std::vector<Generator::Tokens> sequences;
  std::vector<double> scores;  // of beams, one for each sequence
};

struct GenerationOutcome {
  size_t rows = 0, equal = 0;
  bool has_scores = false;
  double score_error = 0;  // the largest, relative to the score, or to 1 of the sum that it is made of
};

/// Empty where the directory has no such file. Throws Error where it is not as expected.
std::vector<GenerationCase> read_generation_cases(const std::filesystem::path& directory);
/// Return a number of tokens: the longest of all results, prompts included, and the longest of all prompts; 0
/// where there is no case.
int64_t longest_sequence(const std::vector<GenerationCase>& cases);
int64_t longest_prompt(const std::vector<GenerationCase>& cases);
/// Prompts and beams of one case, at most.
int64_t most_rows(const std::vector<GenerationCase>& cases);

/// Generates with the case's options over those of the model.
GenerationOutcome compare_case(const GenerationCase& recorded, Session& session, const Json& about);

}  // namespace smelt::cli
