// Comparison of generation with the results of Hugging Face transformers, which record_generation.py has
// recorded in generation.json of a model directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/engine/generation/generator.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {

/// One recorded call of transformers' generate().
struct GenerationCase {
  std::string name;
  Json options;  // the names are those of Hugging Face's GenerationConfig
  /// Prompts may contain padding, whose elements in `masks` are 0.
  std::vector<Generator::Tokens> prompts, masks;
  /// Expected results, in the order of the prompts; each prompt has the same number of them.
  std::vector<Generator::Tokens> sequences;
  std::vector<double> scores;  // expected scores of beam search, one per sequence; else empty
};

/// The comparison of one case.
struct GenerationOutcome {
  size_t rows = 0, equal = 0;  // number of expected sequences; number of them that were generated exactly
  bool has_scores = false;
  /// Largest relative error of a score of a beam search. The score of a sequence of n new tokens is the sum
  /// of their log-probabilities, times n^-length_penalty. The error of a score is divided by max(1, |score|,
  /// n^-length_penalty).
  double score_error = 0;
};

/// Reads generation.json of a model directory. Returns nothing if there is no such file. Throws Error if its
/// content is not as record_generation.py writes it.
std::vector<GenerationCase> read_generation_cases(const std::filesystem::path& directory);
/// Returns the number of tokens of the longest expected sequence, which includes the prompt unless the model
/// has an encoder; 0 if there are no cases.
int64_t longest_sequence(const std::vector<GenerationCase>& cases);
/// Returns the number of tokens of the longest prompt; 0 if there are no cases.
int64_t longest_prompt(const std::vector<GenerationCase>& cases);
/// Returns the number of rows that generation needs: the maximum over all cases of prompts times beams, at
/// least 1.
int64_t most_rows(const std::vector<GenerationCase>& cases);

/// Generates with the options of the model, overridden by those of the case, and compares the results.
/// `about` is the model's description (Model::about).
GenerationOutcome compare_case(const GenerationCase& recorded, Session& session, const Json& about);

}  // namespace smelt::cli
