// Random data for the inputs, states and parameters of a graph, and the relative error that tests use.
#pragma once

#include <cmath>
#include <limits>
#include <random>

#include "ir/evaluate/evaluator.h"
#include "ir/graph/body.h"
#include "runtime/base/error.h"

namespace smelt::testing {

/// Returns a tensor with random elements: floats with absolute values in [0.1, 1.1), integers in [0, limit),
/// and booleans.
inline Tensor random_tensor(const Type& type, const SymbolValues& symbols, std::mt19937_64& random,
                            int64_t limit = 5) {
  Tensor tensor{type.dtype, {}, {}};
  for (const Dim& dim : type.shape) tensor.shape.push_back(dim.evaluate(symbols));
  int64_t count = 1;
  for (int64_t size : tensor.shape) count *= size;
  std::uniform_real_distribution<double> magnitude(0.1, 1.1);
  std::uniform_int_distribution<int64_t> integer(0, type.dtype == DType::boolean ? 1 : limit - 1);
  for (int64_t i = 0; i < count; ++i) {
    const double size = magnitude(random), sign = (random() & 1) != 0 ? 1 : -1;
    tensor.data.push_back(is_float(type.dtype) ? sign * size : static_cast<double>(integer(random)));
  }
  return tensor;
}

/// Returns the smallest size among the dims that the elements of `value` index; 0 if they index none. They
/// index a dim if they, or a slice, a reshape or the like of them, are the indices of a gather, an embedding
/// or the like.
inline int64_t index_limit(const Value& value, const SymbolValues& symbols) {
  int64_t limit = 0;
  const auto lower = [&](int64_t size) { limit = limit == 0 ? size : std::min(limit, size); };
  for (const Node* user : value.users()) {
    const bool indexes = user->operands().size() > 1 && user->operand(1) == &value;
    if (indexes && (user->is(Op::gather) || user->is(Op::scatter_add) || user->is(Op::scatter)))
      lower(user->operand(0)->shape().at(static_cast<size_t>(user->get(attr::axis))).evaluate(symbols));
    if (indexes && user->is(Op::embedding)) lower(user->operand(0)->shape().at(0).evaluate(symbols));
    if (indexes && user->is(Op::cross_entropy)) lower(user->operand(0)->shape().back().evaluate(symbols));
    const bool passes = user->is(Op::slice) || user->is(Op::reshape) || user->is(Op::transpose) ||
                        user->is(Op::broadcast) || user->is(Op::concat);
    if (passes)
      if (const int64_t inner = index_limit(*user->result(), symbols); inner > 0) lower(inner);
    for (const BodyArgument& argument : body_arguments(*user))
      if (argument.operand == &value)
        if (const int64_t inner = index_limit(*argument.input, symbols); inner > 0) lower(inner);
  }
  return limit;
}

/// Returns a random tensor for each input. Integers are valid indices of the dims that they index, or below
/// `limit` if they index none.
inline Tensors random_inputs(const Graph& graph, uint64_t seed, const SymbolValues& symbols,
                             int64_t limit = 5) {
  std::mt19937_64 random(seed);
  Tensors tensors;
  for (const Node* node : graph.inputs()) {
    const int64_t least = index_limit(*node->result(), symbols);
    tensors[node->get(attr::name)] =
        random_tensor(node->result()->type, symbols, random, least > 0 ? least : limit);
  }
  return tensors;
}

/// Returns a random tensor for each parameter of the module, and for each state except parameter states with
/// segments, which consist of these parameters. Scalar states and optimizer states are not negative.
inline Tensors random_states(const Module& module, uint64_t seed, const SymbolValues& symbols) {
  std::mt19937_64 random(seed ^ 0x9E3779B97F4A7C15u);
  Tensors tensors;
  for (const Module::Parameter& parameter : module.parameters)
    tensors[parameter.name] = random_tensor(parameter.type, symbols, random);
  for (const State& state : module.states) {
    if (!state.segments.empty() && state.role == Role::parameter)
      continue;  // read from the parameters by name
    tensors[state.name] = random_tensor({state.dtype, state.shape}, symbols, random);
    if (state.shape.empty() || state.role == Role::optimizer)
      for (double& x : tensors[state.name].data) x = std::fabs(x);
  }
  return tensors;
}
inline Tensors random_states(const Graph& graph, uint64_t seed, const SymbolValues& symbols) {
  return random_states(graph.module(), seed, symbols);
}

/// Returns norm(a - b) / norm(b); norm(a - b) if b is zero, or so small that it may be a rounding error of
/// float64; infinity if shapes differ, or if an element is NaN in one tensor only.
inline double relative_error(const Tensor& a, const Tensor& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.shape != b.shape || a.data.size() != b.data.size()) return kInfinity;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.data.size(); ++i) {
    const double x = a.data[i], y = b.data[i];
    if (std::isnan(x) != std::isnan(y)) return kInfinity;
    if (x == y || std::isnan(x)) continue;  // equal infinities too
    difference += (x - y) * (x - y);
  }
  for (double y : b.data)
    if (std::isfinite(y)) norm += y * y;
  constexpr double kCancelled = 1e-15;  // bound of the root mean square of a rounding error
  const bool zero = norm <= kCancelled * kCancelled * static_cast<double>(b.data.size());
  return std::sqrt(zero ? difference : difference / norm);
}

/// Returns the largest relative error of tensors with the same name; infinity if a name is in one map only.
inline double relative_error(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (const auto& [name, tensor] : b) {
    auto it = a.find(name);
    worst = std::max(
        worst, it == a.end() ? std::numeric_limits<double>::infinity() : relative_error(it->second, tensor));
  }
  return worst;
}

}  // namespace smelt::testing
