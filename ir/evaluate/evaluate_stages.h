// Evaluation of one entry on every stage of a pipeline, in lockstep and in one process. The graphs differ
// from stage to stage; their collectives are sums along the axis `stage`.
#pragma once

#include <vector>

#include "ir/evaluate/evaluator.h"

namespace smelt {

/// Arguments of one stage.
struct StageRun {
  const Graph* graph = nullptr;
  const Tensors* inputs = nullptr;
  const Tensors* states = nullptr;
};
/// Returns an evaluation per stage, in order. Throws Error, in addition to evaluate(), if stages reach
/// different collectives, or one is no all_reduce along the axis.
std::vector<Evaluation> evaluate_stages(const std::vector<StageRun>& stages, const EvaluateOptions& options);

}  // namespace smelt
