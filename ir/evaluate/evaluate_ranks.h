// Evaluation of a partitioned graph on all ranks of its mesh, in lockstep and in one process: the reference
// result of several GPUs, for any mesh and without any GPU.
#pragma once

#include "ir/evaluate/evaluator.h"

namespace smelt {

/// Evaluates the graph. Inputs, states and parameters are given whole and cut by their shardings; results and
/// states are joined again. Flat states whose segments ranks share are given and returned segment by segment
/// (rank_states.h). Symbols have their values over all ranks. Throws Error, in addition to evaluate(), if
/// ranks do not divide a size, or if ranks that should hold equal data do not.
Evaluation evaluate_ranks(const Graph& graph, const Tensors& inputs, const Tensors& states,
                          const EvaluateOptions& options);

/// Returns one rank's part of a whole value: its block of every sharded dim. The first rank holds all of a
/// partial value and the others hold zeros.
Tensor part_of(const Tensor& whole, const Sharding& sharding, const Mesh& mesh, int64_t rank);
/// Joins parts[rank] of all ranks. Throws Error naming `what` and two ranks if parts that should be equal
/// differ in any bit.
Tensor joined(const std::vector<Tensor>& parts, const Sharding& sharding, const Mesh& mesh,
              const std::string& what);

}  // namespace smelt
