// The body of POST /v1/completions, as OpenAI's clients write it, with further options by transformers'
// names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/generation/generation_options.h"

namespace smelt {

struct CompletionRequest {
  struct Prompt {
    std::string text;  // where there are no tokens
    std::vector<int32_t> tokens;
  };
  std::optional<std::string> model;
  std::vector<Prompt> prompts;
  GenerationOptions options;  // of one choice
  std::vector<std::string> stop;
  int64_t n = 1;
  std::optional<int64_t> log_probabilities;
  std::optional<uint32_t> seed;
  bool stream = false, include_usage = false, echo = false, add_special_tokens = true;
};

/// Prompts and choices of one body, and stop texts.
constexpr int64_t kMostChoices = 128, kMostStops = 16;
/// Bytes of a stop text; entries of a list of token sequences, and ids of all lists together. Each choice
/// keeps its own.
constexpr size_t kMostStopBytes = 256, kMostSequencesOfIds = 1024, kMostIds = 4096;

/// Returns the options of a request that sets none: the model's own options, at temperature 1 unless these
/// say otherwise, and 16 tokens.
GenerationOptions completion_defaults(std::string_view model);

/// Throws ApiError that names the field for everything that is wrong or would not be honoured.
CompletionRequest read_completion_request(std::string_view body, const GenerationOptions& defaults);

}  // namespace smelt
