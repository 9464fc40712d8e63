// Inference benchmark of an encoder, or of a decoder over whole sequences.
#pragma once

#include <optional>
#include <string>

#include "compiler/cli/shared/inference_ranks.h"
#include "compiler/driver/compile.h"

namespace smelt::cli {

struct InferenceBench {
  Description description;
  CompileOptions compile;
  std::string name;  // of the model
  int threads = 0, warm_up = 2, steps = 6;
  std::optional<int> together;  // runs between two looks at the clock; nothing: those of 20 ms
  bool profile = false, json = false;
  std::string output;               // FILE.json and FILE.md
  InferenceRanks* ranks = nullptr;  // that share the model; the first one reports
};

/// Runs the entry `logits` with random inputs of the largest sizes and initial weights. Inputs come from the
/// host each time, outputs stay on the device.
void bench_inference(const InferenceBench& bench);

}  // namespace smelt::cli
