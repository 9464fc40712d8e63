// Generation benchmark: the time to the first token, and the time of each token after it.
#pragma once

#include <string>

#include "compiler/cli/shared/inference_ranks.h"
#include "compiler/driver/compile.h"

namespace smelt::cli {

struct GenerationBench {
  Description description;
  CompileOptions compile;
  std::string name;  // of the workload, in reports
  /// Number of prompts, tokens per prompt, new tokens per prompt, and beams per prompt (1: no beam search).
  int64_t batch = 1, prompt = 128, new_tokens = 32, beams = 1;
  int threads = 0, warm_up = 2, steps = 6;  // threads 0: all cores; calls before and with measurement
  bool sample = false;                      // sampling with top-k 50 and top-p 0.9 instead of greedy decoding
  bool profile = false, json = false;
  std::string output;               // writes <output>.json and <output>.md; empty: none
  InferenceRanks* ranks = nullptr;  // processes that share the model; null: only this one
};

/// Generates from prompts of random tokens with initial weights, and prints the times. Every prompt gets
/// exactly `new_tokens` tokens. The time per token is the time of all new tokens except the first, divided by
/// their number. The time of the whole call is reported as well.
void bench_generation(const GenerationBench& bench);

}  // namespace smelt::cli
