// One entry on every stage of a pipeline, in lockstep and in one process. The graphs differ from stage to
// stage; what they do together are sums along the axis `stage`.
#pragma once

#include <vector>

#include "ir/evaluate/evaluator.h"

namespace smelt {

/// What one stage has of its own.
struct StageRun {
  const Graph* graph = nullptr;
  const Tensors* inputs = nullptr;
  const Tensors* states = nullptr;
};
/// An evaluation a stage, in their order. Throws Error, beyond what evaluate() does, where stages come to
/// different collectives, or one is no all_reduce along the axis.
std::vector<Evaluation> evaluate_stages(const std::vector<StageRun>& stages, const EvaluateOptions& options);

}  // namespace smelt
