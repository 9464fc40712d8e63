// Inference benchmark: runs of an encoder, or of a decoder over whole sequences without caches.
#pragma once

#include <optional>
#include <string>

#include "compiler/cli/shared/inference_ranks.h"
#include "compiler/driver/compile.h"

namespace smelt::cli {

/// A model, and the runs that are measured with it.
struct InferenceBench {
  Description description;
  CompileOptions compile;
  std::string name;                         // of the workload, in reports
  int threads = 0, warm_up = 2, steps = 6;  // threads (0: all cores); measurements to discard, and to use
  std::optional<int> together;  // runs per measurement; empty: as many as take 20 ms, or 1 with `ranks`
  /// profile: also prints the time of each step of the plan. json: prints JSON instead of a table.
  bool profile = false, json = false;
  std::string output;               // the results are also written to <output>.json and .md; empty: not
  InferenceRanks* ranks = nullptr;  // processes that share the model; null: only this one
};

/// Measures runs of the entry `logits` with initial weights and random inputs of the largest sizes that the
/// bounds allow, and prints the times. Every run copies its inputs from the host; outputs stay on the device.
void bench_inference(const InferenceBench& bench);

}  // namespace smelt::cli
