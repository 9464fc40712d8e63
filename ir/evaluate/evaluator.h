// Reference evaluator of graphs, in float64, for small tensors. It supports primitive operations only. It
// throws Error for a composite operation, which decompose() replaces by primitive ones. It is a template over
// the scalar type, so that dual numbers give forward-mode derivatives. It is slow and simple on purpose,
// because tests compare compiled results with it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "runtime/base/philox.h"

namespace smelt {

/// Dense row-major tensor of doubles; integers and booleans are stored as numbers.
struct Tensor {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<double> data;
};
using Tensors = std::map<std::string, Tensor, std::less<>>;

struct EvaluateOptions {
  SymbolValues symbols;  // the size that each symbol stands for
  Philox philox;         // seed, step and micro_step of random numbers
  bool round = false;    // values are rounded to 16-bit types where kernels round them, such as in convert
  bool single = false;   // evaluate() computes in float32, to estimate the error of a kernel
};

/// Results of an evaluation.
struct Evaluation {
  Tensors outputs;  // by output name
  Tensors states;   // new values of the states that the graph updates, by state name
};

/// Evaluates the graph. `inputs` has tensors by input name, and `states` by state name. A parameter may have
/// its own tensor in `states`, or may be a segment of the tensor of a flat state such as "parameters". Throws
/// Error if a tensor is missing or has a wrong shape.
Evaluation evaluate(const Graph& graph, const Tensors& inputs, const Tensors& states,
                    const EvaluateOptions& options);

/// Results of a graph, and their derivatives along one direction.
struct DualEvaluation {
  Evaluation value, tangent;
};
/// Evaluates the graph as evaluate() does, with derivatives. `tangents` is the direction: tangents of inputs,
/// states and parameters by name; those that are absent are zero.
DualEvaluation evaluate_dual(const Graph& graph, const Tensors& inputs, const Tensors& states,
                             const Tensors& tangents, const EvaluateOptions& options);

/// Results of a graph in float64, and for every element a bound on the difference between the results in
/// float32 and in float64 (bounded.h). Infinity: float32 may give any result.
struct BoundedEvaluation {
  Evaluation value, error;
};
/// Evaluates the graph as evaluate() does, with bounds of the errors. Inputs and states are assumed to be
/// exact.
BoundedEvaluation evaluate_bounded(const Graph& graph, const Tensors& inputs, const Tensors& states,
                                   const EvaluateOptions& options);

}  // namespace smelt
