// Reference evaluator: every primitive in float64 on small tensors (a composite is an Error: decompose
// first), templated on the scalar so that dual numbers give forward-mode derivatives. It is slow and simple
// on purpose, because all tests compare with it.
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
  SymbolValues symbols;
  Philox philox;        // seed, step, micro_step of random ops
  bool round = false;   // convert rounds to its storage type
  bool single = false;  // arithmetic in float32, for judging a kernel's error
};

struct Evaluation {
  Tensors outputs;  // by output name
  Tensors states;   // those that an update wrote, by state name
};

/// Evaluates the graph. Reads inputs by input name, states by state name and parameters by parameter name, or
/// from the segment of the flat state "parameters" if that is given. Throws Error with missing tensors and
/// wrong shapes.
Evaluation evaluate(const Graph& graph, const Tensors& inputs, const Tensors& states,
                    const EvaluateOptions& options);

/// The same with derivatives along one direction: tangents of inputs, states and parameters by name (absent:
/// zero).
struct DualEvaluation {
  Evaluation value, tangent;
};
DualEvaluation evaluate_dual(const Graph& graph, const Tensors& inputs, const Tensors& states,
                             const Tensors& tangents, const EvaluateOptions& options);

/// Values in float64, and for every element the largest distance of a float32 result, for any order of sums;
/// infinite if float32 may give any result. Inputs and states are exact.
struct BoundedEvaluation {
  Evaluation value, error;
};
BoundedEvaluation evaluate_bounded(const Graph& graph, const Tensors& inputs, const Tensors& states,
                                   const EvaluateOptions& options);

}  // namespace smelt
