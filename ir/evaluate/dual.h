// Scalar functions for the expressions in the `reference` column of ir/ops/scalar_ops.def, over float, double
// and dual numbers. bounded.h has the functions for bounded numbers, but only those that reductions use.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>

#include "ir/evaluate/bounded.h"

namespace smelt {

/// Dual number value + tangent * e, where e^2 = 0. Arithmetic on dual numbers also computes a directional
/// derivative (forward-mode differentiation).
template <typename T>
struct Dual {
  T value = 0, tangent = 0;

  Dual() = default;
  Dual(T value, T tangent = 0) : value(value), tangent(tangent) {}  // NOLINT: numbers are constants

  friend Dual operator-(const Dual& a) { return {-a.value, -a.tangent}; }
  friend Dual operator+(const Dual& a, const Dual& b) { return {a.value + b.value, a.tangent + b.tangent}; }
  friend Dual operator-(const Dual& a, const Dual& b) { return {a.value - b.value, a.tangent - b.tangent}; }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return {a.value * b.value, a.tangent * b.value + a.value * b.tangent};
  }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const T quotient = a.value / b.value;
    return {quotient, (a.tangent - quotient * b.tangent) / b.value};
  }
  Dual& operator+=(const Dual& b) { return *this = *this + b; }

  // Comparisons ignore the tangents.
  friend bool operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
  friend bool operator<=(const Dual& a, const Dual& b) { return a.value <= b.value; }
  friend bool operator>(const Dual& a, const Dual& b) { return a.value > b.value; }
  friend bool operator>=(const Dual& a, const Dual& b) { return a.value >= b.value; }
  friend bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  friend bool operator!=(const Dual& a, const Dual& b) { return a.value != b.value; }
};

namespace math {

/// Returns the value of a number, without its tangent.
template <std::floating_point T>
T primal(T a) {
  return a;
}
template <typename T>
T primal(const Dual<T>& a) {
  return a.value;
}

// ---- real numbers

template <std::floating_point T>
T abs(T a) {
  return std::fabs(a);
}
template <std::floating_point T>
T exp(T a) {
  return std::exp(a);
}
template <std::floating_point T>
T expm1(T a) {
  return std::expm1(a);
}
template <std::floating_point T>
T log(T a) {
  return std::log(a);
}
template <std::floating_point T>
T log1p(T a) {
  return std::log1p(a);
}
template <std::floating_point T>
T sqrt(T a) {
  return std::sqrt(a);
}
template <std::floating_point T>
T tanh(T a) {
  return std::tanh(a);
}
template <std::floating_point T>
T erf(T a) {
  return std::erf(a);
}
template <std::floating_point T>
T erfc(T a) {
  return std::erfc(a);
}
template <std::floating_point T>
T sin(T a) {
  return std::sin(a);
}
template <std::floating_point T>
T cos(T a) {
  return std::cos(a);
}
template <std::floating_point T>
T floor(T a) {
  return std::floor(a);
}
template <std::floating_point T>
T round(T a) {
  return std::nearbyint(a);  // ties to even, the default direction
}
template <std::floating_point T>
T sign(T a) {
  return a > 0 ? T(1) : a < 0 ? T(-1) : a;  // sign(+-0) = +-0, sign(NaN) = NaN
}

// ---- dual numbers: f(a + e t) = f(a) + e f'(a) t

template <typename T>
Dual<T> abs(const Dual<T>& a) {
  return {std::fabs(a.value), sign(a.value) * a.tangent};
}
template <typename T>
Dual<T> exp(const Dual<T>& a) {
  const T y = std::exp(a.value);
  return {y, y * a.tangent};
}
template <typename T>
Dual<T> expm1(const Dual<T>& a) {
  return {std::expm1(a.value), std::exp(a.value) * a.tangent};
}
template <typename T>
Dual<T> log(const Dual<T>& a) {
  return {std::log(a.value), a.tangent / a.value};
}
template <typename T>
Dual<T> log1p(const Dual<T>& a) {
  return {std::log1p(a.value), a.tangent / (T(1) + a.value)};
}
template <typename T>
Dual<T> sqrt(const Dual<T>& a) {
  const T y = std::sqrt(a.value);
  return {y, a.tangent / (T(2) * y)};
}
template <typename T>
Dual<T> tanh(const Dual<T>& a) {
  const T y = std::tanh(a.value);
  return {y, (T(1) - y * y) * a.tangent};
}
template <typename T>
Dual<T> erf(const Dual<T>& a) {
  constexpr T kTwoOverRootPi = T(1.12837916709551257390);
  return {std::erf(a.value), kTwoOverRootPi * std::exp(-a.value * a.value) * a.tangent};
}
template <typename T>
Dual<T> erfc(const Dual<T>& a) {
  constexpr T kTwoOverRootPi = T(1.12837916709551257390);
  return {std::erfc(a.value), -kTwoOverRootPi * std::exp(-a.value * a.value) * a.tangent};
}
template <typename T>
Dual<T> sin(const Dual<T>& a) {
  return {std::sin(a.value), std::cos(a.value) * a.tangent};
}
template <typename T>
Dual<T> cos(const Dual<T>& a) {
  return {std::cos(a.value), -std::sin(a.value) * a.tangent};
}
template <typename T>
Dual<T> floor(const Dual<T>& a) {
  return {std::floor(a.value)};
}
template <typename T>
Dual<T> round(const Dual<T>& a) {
  return {std::nearbyint(a.value)};
}
template <typename T>
Dual<T> sign(const Dual<T>& a) {
  return {sign(a.value)};
}

// ---- real and dual numbers

template <typename T>
bool is_nan(const T& a) {
  return std::isnan(primal(a));
}

/// Returns the maximum or minimum of two equal numbers. Its tangent is the mean of their tangents, as in the
/// derivatives of scalar_ops.def.
template <std::floating_point T>
T one_of_equals(T a, T) {
  return a;
}
template <typename T>
Dual<T> one_of_equals(const Dual<T>& a, const Dual<T>& b) {
  return {a.value, (a.tangent + b.tangent) / T(2)};
}

/// Return the larger and the smaller number; NaN if an operand is NaN.
template <typename T>
T maximum(const T& a, const T& b) {
  if (is_nan(a)) return a;
  if (a == b) return one_of_equals(a, b);
  return is_nan(b) || b > a ? b : a;
}
template <typename T>
T minimum(const T& a, const T& b) {
  if (is_nan(a)) return a;
  if (a == b) return one_of_equals(a, b);
  return is_nan(b) || b < a ? b : a;
}

/// Returns the boolean that a number stands for: false for 0, true for all others.
template <typename T>
bool truth(const T& a) {
  return primal(a) != 0;
}

/// Rounds towards zero, as integer division and float-to-integer conversion do.
template <typename T>
T truncate(const T& a) {
  return T(std::trunc(primal(a)));
}

}  // namespace math
}  // namespace smelt
