// The monoid of every row of reduce_ops.def over any scalar type: a state of one or two scalars with
//   identity()           the state of no elements
//   lift(x, index)       the state of one element
//   combine(left, right) of elements on the left and elements on the right
//   finish(state, i)     the i-th result
#pragma once

#include <cstdint>
#include <limits>

#include "ir/evaluate/dual.h"
#include "ir/op.h"

namespace smelt {

template <typename T>
struct ReductionState {
  T first = T(0), second = T(0);
};

template <typename T>
T infinity() {
  return T(std::numeric_limits<decltype(math::primal(T(0)))>::infinity());
}

/// What most rows do: one scalar, handed on as it is.
template <typename T>
struct PlainReduction {
  using State = ReductionState<T>;
  static State lift(const T& x, int64_t) { return {x}; }
  static T finish(const State& state, int result) { return result == 0 ? state.first : state.second; }
};

template <ReduceOp op, typename T>
struct Reduction;

template <typename T>
struct Reduction<ReduceOp::add, T> : PlainReduction<T> {
  using State = ReductionState<T>;
  static State identity() { return {}; }
  static State combine(const State& l, const State& r) { return {l.first + r.first}; }
};

template <typename T>
struct Reduction<ReduceOp::max, T> : PlainReduction<T> {
  using State = ReductionState<T>;
  static State identity() { return {-infinity<T>()}; }
  static State combine(const State& l, const State& r) { return {math::maximum(l.first, r.first)}; }
};

template <typename T>
struct Reduction<ReduceOp::min, T> : PlainReduction<T> {
  using State = ReductionState<T>;
  static State identity() { return {infinity<T>()}; }
  static State combine(const State& l, const State& r) { return {math::minimum(l.first, r.first)}; }
};

/// The state is an element and its index, -1 for none; of equals the smaller index stays. NaN wins.
template <typename T>
struct Reduction<ReduceOp::argmax, T> : PlainReduction<T> {
  using State = ReductionState<T>;
  static State identity() { return {-infinity<T>(), T(-1)}; }
  static State lift(const T& x, int64_t index) { return {x, T(static_cast<double>(index))}; }
  static State combine(const State& l, const State& r) {
    if (r.second < T(0)) return l;
    if (l.second < T(0)) return r;
    const bool earlier = l.second < r.second;
    if (math::is_nan(l.first) || math::is_nan(r.first))
      return math::is_nan(l.first) && (earlier || !math::is_nan(r.first)) ? l : r;
    if (l.first == r.first) return earlier ? l : r;
    return l.first > r.first ? l : r;
  }
  static T finish(const State& state, int result) {
    return result == 0 ? state.first : math::maximum(state.second, T(0));
  }
};

/// (m, sum of exp(x - m)); a row of -inf alone sums nothing: (-inf, 0).
template <typename T>
struct Reduction<ReduceOp::max_sumexp, T> : PlainReduction<T> {
  using State = ReductionState<T>;
  static State identity() { return {-infinity<T>(), T(0)}; }
  static State lift(const T& x, int64_t) { return {x, x == -infinity<T>() ? T(0) : T(1)}; }
  static State combine(const State& l, const State& r) {
    const T m = math::maximum(l.first, r.first);
    if (m == -infinity<T>()) return {m, T(0)};
    return {m, scaled(l, m) + scaled(r, m)};
  }

 private:
  static T scaled(const State& s, const T& m) {
    return s.first == -infinity<T>() ? T(0) : s.second * math::exp(s.first - m);
  }
};

/// The element of the smallest index, kept beside it.
template <typename T>
struct Reduction<ReduceOp::first, T> : PlainReduction<T> {
  using State = ReductionState<T>;
  static State identity() { return {T(0), T(-1)}; }
  static State lift(const T& x, int64_t index) { return {x, T(static_cast<double>(index))}; }
  static State combine(const State& l, const State& r) {
    if (r.second < T(0)) return l;
    return l.second < T(0) || r.second < l.second ? r : l;
  }
};

/// The sum and the number of those among the first kPivotElements.
template <typename T>
struct Reduction<ReduceOp::pivot, T> : PlainReduction<T> {
  using State = ReductionState<T>;
  static State identity() { return {}; }
  static State lift(const T& x, int64_t index) { return index < kPivotElements ? State{x, T(1)} : State{}; }
  static State combine(const State& l, const State& r) { return {l.first + r.first, l.second + r.second}; }
  static T finish(const State& state, int) { return state.first / state.second; }
};

}  // namespace smelt
