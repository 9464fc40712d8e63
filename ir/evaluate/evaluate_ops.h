// Internals of the evaluator (evaluator.h): one function per primitive operation, a template over the scalar
// type S, which is float, double, Dual<double> (a value with a derivative) or Bounded (a value with a bound
// on its float32 error).
#pragma once

#include <functional>
#include <vector>

#include "ir/evaluate/dual.h"
#include "ir/evaluate/evaluator.h"
#include "ir/evaluate/tensor_index.h"
#include "ir/evaluate/whole_numbers.h"
#include "runtime/base/error.h"

namespace smelt::evaluation {

/// Dense row-major tensor with elements of type S.
template <typename S>
struct Array {
  Sizes shape;
  std::vector<S> data;
};
template <typename S>
using Arrays = std::vector<Array<S>>;

/// Arguments of the function for one node: the values of its operands, and the shapes of its results in this
/// run.
template <typename S>
struct Call {
  const Node& node;
  std::vector<const Array<S>*> operands;
  std::vector<Sizes> shapes;
  const EvaluateOptions& options;

  const Array<S>& operand(size_t i) const { return *operands[i]; }
  /// Returns the shape of result 0.
  const Sizes& shape() const { return shapes[0]; }
  /// Returns a tensor of zeros in the shape of result i.
  Array<S> zeros(size_t i = 0) const {
    return {shapes[i], std::vector<S>(static_cast<size_t>(element_count(shapes[i])), S(0))};
  }
};

/// Returns `result` as the node stores it: rounded to the element type of the node's result if
/// EvaluateOptions::round. This function serves operations whose kernels add up in f32 and store a 16-bit
/// type.
template <typename S>
Array<S> stored(const Call<S>& call, Array<S> result);

// Each function returns the node's results, in order.
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
// For a node with a body, evaluate_matmul, evaluate_attention and evaluate_attention_grad do not return the
// node's results in the first call. This call has only the operands that the op itself reads (own_operands),
// and it returns the block arguments of the body. Then the caller runs the body. The two attention functions
// are called a second time, with the same operands followed by the body's results, and then return the node's
// results. The results of a matmul are those of its body.
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
Arrays<S> evaluate_dequantize(const Call<S>& call);
template <typename S>
Arrays<S> evaluate_insert(const Call<S>& call);

/// Writes operand 0 of an `update` node into `state`, whole or at its index operands.
template <typename S>
void apply_update(const Call<S>& call, Array<S>& state);

/// Returns the whole number x as a scalar of type S. Throws Error that names the node if a double cannot
/// represent x, unless S is float.
template <typename S>
S number_of_integer(const Node& node, int64_t x) {
  if constexpr (!std::is_same_v<S, float>)
    if (!is_double(x))
      fail("{}: the result {} is a whole number that the evaluator, which computes in float64, does not hold",
           node.describe(), x);
  return S(static_cast<decltype(math::primal(S(0)))>(x));
}

/// Instantiates a function template for every scalar type of the evaluator.
#define SMELT_EVALUATE_ALL(function)                                 \
  template Arrays<float> function(const Call<float>&);               \
  template Arrays<double> function(const Call<double>&);             \
  template Arrays<Dual<double>> function(const Call<Dual<double>>&); \
  template Arrays<Bounded> function(const Call<Bounded>&);

}  // namespace smelt::evaluation
