// Functions for tests of the evaluator that create tensors and evaluate graphs in text form.
#pragma once

#include <string_view>
#include <vector>

#include "ir/evaluate/evaluator.h"
#include "ir/graph/verifier.h"
#include "ir/text/text.h"

namespace smelt::testing {

using Numbers = std::vector<double>;

inline Tensor vector(std::vector<double> data, DType dtype = DType::f32) {
  return {dtype, {static_cast<int64_t>(data.size())}, data};
}
inline Tensor scalar(double x, DType dtype = DType::f32) { return {dtype, {}, {x}}; }

/// Evaluates the first graph of a module in text form.
inline Evaluation run(std::string_view text, const Tensors& inputs, const Tensors& states = {},
                      EvaluateOptions options = {}) {
  const auto module = parse_module(text);
  verify_or_throw(*module);
  return evaluate(*module->graphs[0], inputs, states, options);
}

/// Does the same, and returns the elements of the output "r".
inline std::vector<double> output(std::string_view text, const Tensors& inputs,
                                  EvaluateOptions options = {}) {
  return run(text, inputs, {}, options).outputs.at("r").data;
}

}  // namespace smelt::testing
