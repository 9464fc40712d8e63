// The functions of every row of reduce_ops.def over any scalar type, and the functions that its expressions
// use besides those of dual.h.
#pragma once

#include <array>
#include <limits>

#include "ir/evaluate/dual.h"
#include "ir/op.h"

namespace smelt {
namespace math {

/// Below every element and above every element, of the operand's type: the infinities where it has them.
template <typename T>
T highest() {
  return T(std::numeric_limits<decltype(primal(T(0)))>::infinity());
}
template <typename T>
T lowest() {
  return -highest<T>();
}
/// A place among the elements as a number; -1 stands for none.
template <typename T>
T place(int number) {
  return T(number);
}
template <typename T>
T select(bool condition, const T& yes, const T& no) {
  return condition ? yes : no;
}

/// The larger, or 0 where that is infinite: what exponents are taken against.
template <typename T>
T finite_maximum(const T& a, const T& b) {
  const T larger = maximum(a, b);
  return select(larger == lowest<T>(), T(0), select(larger == highest<T>(), T(0), larger));
}

/// Whether the right one of two elements with places comes first; an element with place -1 does not exist.
template <typename State>
auto is_earlier(const State& l, const State& r) {
  using T = typename State::value_type;
  return r[1] >= place<T>(0) && (l[1] < place<T>(0) || r[1] < l[1]);
}
/// Whether the right one of two elements with places is the larger. Of equal ones the earlier counts as
/// larger, and NaN is above everything.
template <typename State>
auto is_larger(const State& l, const State& r) {
  using T = typename State::value_type;
  const auto greater = r[0] > l[0] || (is_nan(r[0]) && !is_nan(l[0]));
  const auto equal = r[0] == l[0] || (is_nan(r[0]) && is_nan(l[0]));
  return r[1] >= place<T>(0) && (l[1] < place<T>(0) || greater || (equal && r[1] < l[1]));
}
/// right / (left + right) of two counts, 0 where both are 0.
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
#include "ir/reduce_ops.def"

}  // namespace math

/// Reduction<op, T>: identity(), lift(x, i), combine(l, r) and finish(s) of a row, on arrays of T.
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
