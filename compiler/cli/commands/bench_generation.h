// Generation benchmark: the time to the first token, and the time of each token after it.
#pragma once

#include <string>

#include "compiler/cli/shared/inference_ranks.h"
#include "compiler/driver/compile.h"

namespace smelt::cli {

struct GenerationBench {
  Description description;
  CompileOptions compile;
  std::string name;  // of the model
  int64_t batch = 1, prompt = 128, new_tokens = 32, beams = 1;
  int threads = 0, warm_up = 2, steps = 6;
  bool sample = false;  // top-k 50, top-p 0.9, in place of greedy
  bool profile = false, json = false;
  std::string output;               // FILE.json and FILE.md
  InferenceRanks* ranks = nullptr;  // that share the model; the first one reports
};

/// Runs prompts of random tokens with initial weights; no text ends early. The time per token is the time of
/// all new tokens but the first, divided by their number; the time of the whole call is the latency for a
/// caller.
void bench_generation(const GenerationBench& bench);

}  // namespace smelt::cli
