// Inference benchmark. It measures runs of an encoder, or runs of a decoder that processes whole sequences
// without KV caches.
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
  std::string name;  // name of the workload in reports
  /// CPU threads (0: all cores); numbers of measurements to discard, and to use.
  int threads = 0, warm_up = 2, steps = 6;
  std::optional<int> together;  // runs per measurement; empty: as many as take 20 ms, or 1 with `ranks`
  /// profile: also prints the time of each step of the plan. json: prints JSON instead of a table.
  bool profile = false, json = false;
  std::string output;  // results are also written to <output>.json and <output>.md; empty: no files
  InferenceRanks* ranks = nullptr;  // processes that share the model; null: only this one
};

/// Measures runs of the entry `logits`, and prints their times. The weights have their initial values. The
/// inputs are random, and as large as the bounds of the symbols allow. Every run copies its inputs from the
/// host; outputs stay on the device.
void bench_inference(const InferenceBench& bench);

}  // namespace smelt::cli
