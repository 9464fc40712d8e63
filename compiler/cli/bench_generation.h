// How fast a model generates: the time to the first token and that of each one behind it.
#pragma once

#include <string>

#include "compiler/cli/inference_ranks.h"
#include "compiler/compile.h"

namespace smelt::cli {

struct GenerationBench {
  Description description;
  CompileOptions compile;
  std::string name;  // of the model
  int64_t batch = 1, prompt = 128, new_tokens = 32, beams = 1;
  int threads = 0, warm_up = 2, steps = 6;
  bool sample = false;  // top-k 50, top-p 0.9, in place of greedy
  bool profile = false, json = false, timing = false, plan_cache = true;
  std::string output;               // FILE.json and FILE.md
  InferenceRanks* ranks = nullptr;  // that share the model; the first one reports
};

/// Runs prompts of random tokens with initial weights; no text ends early. A token's time is that of all new
/// ones but the first, divided by their number; the whole call is what a caller waits for.
void bench_generation(const GenerationBench& bench);

}  // namespace smelt::cli
