// Internals of the evaluator: one function per primitive, over float, double, dual or bounded numbers.
#pragma once

#include <functional>
#include <vector>

#include "ir/evaluate/dual.h"
#include "ir/evaluate/evaluator.h"
#include "ir/evaluate/tensor_index.h"
#include "ir/evaluate/whole_numbers.h"
#include "runtime/base/error.h"

namespace smelt::evaluation {

/// Dense row-major tensor of any scalar.
template <typename S>
struct Array {
  Sizes shape;
  std::vector<S> data;
};
template <typename S>
using Arrays = std::vector<Array<S>>;

/// One node with its operands' values and its results' shapes at this launch.
template <typename S>
struct Call {
  const Node& node;
  std::vector<const Array<S>*> operands;
  std::vector<Sizes> shapes;
  const EvaluateOptions& options;

  const Array<S>& operand(size_t i) const { return *operands[i]; }
  const Sizes& shape() const { return shapes[0]; }
  /// Returns a result of shape i, all zero.
  Array<S> zeros(size_t i = 0) const {
    return {shapes[i], std::vector<S>(static_cast<size_t>(element_count(shapes[i])), S(0))};
  }
};

/// Returns the node's result as it is stored, rounded to its narrow type if the options request that: for ops
/// that sum in f32 and store a 16-bit type.
template <typename S>
Array<S> stored(const Call<S>& call, Array<S> result);

// Each returns the node's results, in order.
template <typename S>
Arrays<S> evaluate_constant(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_iota(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_random(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_pointwise(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_convert(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_reduce(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_same(const Call<S>& call);  // reshape
template <typename S>
Arrays<S> evaluate_stop_gradient(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_broadcast(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_transpose(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_slice(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_windows(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_concat(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_pack(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_gather(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_scatter_add(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_scatter(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_matmul(const Call<S>& call);
// If the node has a body and only its own operands, returns the inputs of the body. If the body's results
// follow these operands, returns the node's results.
template <typename S>
Arrays<S> evaluate_attention(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_attention_grad(const Call<S>& call);

template <typename S>
Arrays<S> evaluate_scan(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_top_k(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_sample(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_insert(const Call<S>& call);

/// Writes operand 0 of an `update` node into `state`, whole or at its index operands.
template <typename S>
void apply_update(const Call<S>& call, Array<S>& state);

/// Returns the whole number as a scalar of the evaluator. Throws Error if a double cannot represent it.
template <typename S>
S number_of_integer(const Node& node, int64_t x) {
  if constexpr (!std::is_same_v<S, float>)
    if (!is_double(x))
      fail("{}: the result {} is a whole number that the evaluator, which computes in float64, does not hold",
           node.describe(), x);
  return S(static_cast<decltype(math::primal(S(0)))>(x));
}

/// Instantiates a template for every scalar that the evaluator runs over.
#define SMELT_EVALUATE_ALL(function)                                 \
  template Arrays<float> function(const Call<float>&);               \
  template Arrays<double> function(const Call<double>&);             \
  template Arrays<Dual<double>> function(const Call<Dual<double>>&); \
  template Arrays<Bounded> function(const Call<Bounded>&);

}  // namespace smelt::evaluation
