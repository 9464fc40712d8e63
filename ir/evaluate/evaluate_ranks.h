// A partitioned graph on all ranks of its mesh, in lockstep and in one process: the oracle of what several
// GPUs compute together, for any mesh and without any GPU.
#pragma once

#include "ir/evaluate/evaluator.h"

namespace smelt {

/// Inputs, states and parameters are given whole and cut as their shardings say; results are put together
/// again, and so are states; flat ones of which ranks share segments are given and returned segment by
/// segment (rank_states.h). Symbols have their values over all ranks. Throws Error, beyond what evaluate()
/// does, where ranks do not divide a size, and where ranks that should hold the same do not.
Evaluation evaluate_ranks(const Graph& graph, const Tensors& inputs, const Tensors& states,
                          const EvaluateOptions& options);

/// One rank's part of a whole value: its block of every dim that is cut. Of a value that is partial the first
/// rank holds all of it and the others zeros.
Tensor part_of(const Tensor& whole, const Sharding& sharding, const Mesh& mesh, int64_t rank);
/// The inverse: parts[rank] are those of all ranks. Throws Error naming `what` and two ranks where parts that
/// should be the same are not, bit by bit.
Tensor joined(const std::vector<Tensor>& parts, const Sharding& sharding, const Mesh& mesh,
              const std::string& what);

}  // namespace smelt
