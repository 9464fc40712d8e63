// Generation benchmark: the time to the first token, and the time of each token after it.
#pragma once

#include <string>

#include "compiler/cli/shared/inference_ranks.h"
#include "compiler/driver/compile.h"

namespace smelt::cli {

/// A model, and the generation that is measured with it.
struct GenerationBench {
  Description description;
  CompileOptions compile;
  std::string name;  // of the workload, in reports
  /// Number of prompts, tokens per prompt, new tokens per prompt, and beams per prompt (1: no beam search).
  int64_t batch = 1, prompt = 128, new_tokens = 32, beams = 1;
  int threads = 0, warm_up = 2, steps = 6;  // CPU threads (0: all cores); unmeasured calls; measured calls
  bool sample = false;                      // sampling with top-k 50 and top-p 0.9 instead of greedy decoding
  /// profile: also prints the time of each step of the plan. json: prints JSON instead of a table.
  bool profile = false, json = false;
  std::string output;  // the results are also written to <output>.json and <output>.md; empty: no files
  InferenceRanks* ranks = nullptr;  // processes that share the model; null: only this one
};

/// Generates from prompts of random tokens with initial weights, and prints the times. Every prompt gets
/// exactly `new_tokens` tokens. The time to the first token is that of calls with one new token per prompt.
/// The time per token is the time of a call with all new tokens, minus the time to the first token, divided
/// by new_tokens - 1. The time of a call with all new tokens is reported as well.
void bench_generation(const GenerationBench& bench);

}  // namespace smelt::cli
