// Reference functions of the reductions, over any scalar type of the evaluator. A reduction is a row of the
// table ir/ops/reduce_ops.def, which has the expressions of its functions. The expressions use the functions
// of dual.h and those of namespace math below.
#pragma once

#include <array>
#include <limits>

#include "ir/evaluate/dual.h"
#include "ir/ops/op.h"

namespace smelt {
namespace math {

/// Return the infinities: no element is above highest() or below lowest().
template <typename T>
T highest() {
  return T(std::numeric_limits<decltype(primal(T(0)))>::infinity());
}
template <typename T>
T lowest() {
  return -highest<T>();
}
/// Returns a position among the reduced elements as a number of type T; -1 means no element.
template <typename T>
T place(int number) {
  return T(number);
}
template <typename T>
T select(bool condition, const T& yes, const T& no) {
  return condition ? yes : no;
}

/// Returns the larger of a and b, or 0 if the larger one is infinite. A log-sum-exp subtracts the result from
/// its terms before exp.
template <typename T>
T finite_maximum(const T& a, const T& b) {
  const T larger = maximum(a, b);
  return select(larger == lowest<T>(), T(0), select(larger == highest<T>(), T(0), larger));
}

/// Returns whether the element of state r comes before that of state l. A state is an element and its
/// position. A state with position -1 has no element, and comes last.
template <typename State>
auto is_earlier(const State& l, const State& r) {
  using T = typename State::value_type;
  return r[1] >= place<T>(0) && (l[1] < place<T>(0) || r[1] < l[1]);
}
/// Returns whether the element of state r is larger than that of l. A state is an element and its position,
/// as above. Of two equal elements, the earlier one counts as larger. NaN counts as larger than every number.
template <typename State>
auto is_larger(const State& l, const State& r) {
  using T = typename State::value_type;
  const auto greater = r[0] > l[0] || (is_nan(r[0]) && !is_nan(l[0]));
  const auto equal = r[0] == l[0] || (is_nan(r[0]) && is_nan(l[0]));
  return r[1] >= place<T>(0) && (l[1] < place<T>(0) || greater || (equal && r[1] < l[1]));
}
/// Returns right / (left + right), where `left` and `right` are numbers of elements; 0 if both are 0.
template <typename T>
T share_of_right(const T& left, const T& right) {
  return right / maximum(left + right, T(1));
}

template <typename T, typename... Scalars>
std::array<T, sizeof...(Scalars)> list(const Scalars&... scalars) {
  return {T(scalars)...};
}

#define SMELT_REDUCE_OP(name, identity_list, lift_list, combine_list, finish_list, ...)    \
  template <typename T>                                                                    \
  struct Reduction_##name {                                                                \
    static auto identity() { return list<T>(identity_list); }                              \
    using State = decltype(identity());                                                    \
    static State lift([[maybe_unused]] const T& x, [[maybe_unused]] const T& i) {          \
      return list<T>(lift_list);                                                           \
    }                                                                                      \
    static State combine(const State& l, const State& r) { return list<T>(combine_list); } \
    static auto finish(const State& s) { return list<T>(finish_list); }                    \
  };
#include "ir/ops/reduce_ops.def"

}  // namespace math

/// Reduction<op, T> (below) has the functions of one reduction on states, which are arrays of T: identity();
/// lift(x, i), the state of element x at position i; combine(l, r); and finish(s), the results.
template <ReduceOp op, typename T>
struct ReductionOf;
#define SMELT_REDUCTION(name)               \
  template <typename T>                     \
  struct ReductionOf<ReduceOp::name, T> {   \
    using type = math::Reduction_##name<T>; \
  };
SMELT_REDUCE_OPS(SMELT_REDUCTION)
#undef SMELT_REDUCTION
template <ReduceOp op, typename T>
using Reduction = typename ReductionOf<op, T>::type;

}  // namespace smelt
