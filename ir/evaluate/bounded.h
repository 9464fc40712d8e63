// Arithmetic on numbers that are computed in float64, each with a bound on the error of the same computation
// in float32. With these numbers, the evaluator bounds the error of every element of a kernel's result. The
// error of an operation is found by evaluating the operation at the ends of the operands' intervals [value -
// error, value + error]. The operation's own rounding error is added. The bound of a sum holds for every
// order of its terms.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace smelt {

/// A number computed in float64, and a bound on the distance of the float32 result from it. Error 0: both are
/// equal. Error infinity: float32 may give any result, for instance if a sum may overflow or the argument of
/// a logarithm may be negative.
struct Bounded {
  double value = 0, error = 0;

  Bounded() = default;
  Bounded(double value, double error = 0) : value(value), error(error) {}  // NOLINT: numbers are constants

  /// Returns whether float32 may give any result.
  bool is_wild() const { return !(error < std::numeric_limits<double>::infinity()); }
  bool is_nan() const { return std::isnan(value) && !is_wild(); }
  /// Returns whether the float32 number may be zero and may be another number.
  bool may_be_zero() const { return error > 0 && std::fabs(value) <= error; }

  // Comparisons ignore the errors.
  friend bool operator<(const Bounded& a, const Bounded& b) { return a.value < b.value; }
  friend bool operator<=(const Bounded& a, const Bounded& b) { return a.value <= b.value; }
  friend bool operator>(const Bounded& a, const Bounded& b) { return a.value > b.value; }
  friend bool operator>=(const Bounded& a, const Bounded& b) { return a.value >= b.value; }
  friend bool operator==(const Bounded& a, const Bounded& b) { return a.value == b.value; }
  friend bool operator!=(const Bounded& a, const Bounded& b) { return a.value != b.value; }
};

namespace bounding {

inline constexpr double kRounding = 0x1p-24;        // relative: half a unit in the last place
inline constexpr double kLargest = 0x1.fffffep127;  // of float32
inline constexpr double kLeastNormal = 0x1p-126;    // numbers below it in magnitude may become 0 in a kernel
inline constexpr double kWild = std::numeric_limits<double>::infinity();
inline constexpr double kFunctionRoundings = 4;  // error of exp, tanh, ..., in units of kRounding

// A function whose result is rounded to 16 bits may have a less precise form on a GPU
// (codegen/kernel_passes/kernel_passes.h). The error of that form is at most kShortForm (absolute), and also
// at most kShortFormPart (relative).
inline constexpr double kShortForm = 0x1p-20, kShortFormPart = 0x1p-13;

/// Returns |a - b|: 0 for equal infinities and for two NaN; infinity if only one is NaN.
inline double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = std::fabs(a - b);
  return std::isnan(difference) ? kWild : difference;
}

/// Returns the result of an operation: `value`, with the error `error` that the operands cause plus the
/// operation's own rounding error, `roundings` * kRounding. The error is infinite if float32 may overflow.
inline Bounded rounded(double value, double error, double roundings) {
  if (!std::isfinite(value)) return {value, error > 0 ? kWild : 0};
  error += roundings * kRounding * std::fabs(value);
  if (std::fabs(value) < kLeastNormal && (value != 0 || error > 0) && roundings > 0) error += kLeastNormal;
  return {value, std::fabs(value) + error > kLargest ? kWild : error};
}

/// Returns f(operands), with f's own rounding error, `roundings` * kRounding. Requires: f is monotone in
/// each operand within the operand's interval.
template <typename F, size_t N>
Bounded at_corners(F f, const std::array<Bounded, N>& operands, double roundings) {
  std::array<double, N> numbers;
  std::ranges::transform(operands, numbers.begin(), &Bounded::value);
  const double value = f(numbers);
  for (const Bounded& x : operands)
    if (x.is_nan()) return std::isnan(value) ? Bounded{value} : rounded(value, 0, roundings);
  for (const Bounded& x : operands)
    if (x.is_wild()) return {value, kWild};
  double error = 0;
  for (unsigned corner = 0; corner < 1U << N; ++corner) {
    for (size_t i = 0; i < N; ++i)
      numbers[i] = operands[i].value + ((corner >> i & 1U) != 0 ? operands[i].error : -operands[i].error);
    error = std::max(error, distance(f(numbers), value));
  }
  return rounded(value, error, roundings);
}

/// Return f of one or two operands, by at_corners().
template <typename F>
Bounded unary(F f, const Bounded& a, double roundings) {
  return at_corners([&](const std::array<double, 1>& x) { return f(x[0]); }, std::array{a}, roundings);
}
template <typename F>
Bounded binary(F f, const Bounded& a, const Bounded& b, double roundings) {
  return at_corners([&](const std::array<double, 2>& x) { return f(x[0], x[1]); }, std::array{a, b},
                    roundings);
}

/// Sum of any number of terms, whose bound holds for every order of adding them. The bound is probabilistic:
/// it grows with the square root of the number of terms (Higham and Mary: A new approach to probabilistic
/// rounding error analysis).
class Sum {
 public:
  void add(const Bounded& x) {
    if (x.value == 0 && x.error == 0) return;
    value_ += x.value;
    is_nan_ |= x.is_nan();
    if (std::isinf(x.value) && !x.is_wild()) return;
    error_ += x.error;
    mass_ += std::fabs(x.value);
    ++count_;
  }
  Bounded result() const {
    if (is_nan_) return {std::numeric_limits<double>::quiet_NaN()};
    if (!(mass_ + error_ < kLargest)) return {value_, kWild};
    const double roundings = count_ > 1 ? 2 + std::sqrt(static_cast<double>(count_)) : 0;
    return std::isfinite(value_) ? Bounded{value_, error_ + roundings * kRounding * mass_} : Bounded{value_};
  }

 private:
  double value_ = 0, error_ = 0, mass_ = 0;  // mass_: sum of the terms' magnitudes
  int64_t count_ = 0;
  bool is_nan_ = false;
};

}  // namespace bounding

inline Bounded operator-(const Bounded& a) { return {-a.value, a.error}; }
/// Returns a + b as a part of a longer sum, whose terms a kernel may add in another order: the rounding error
/// is relative to |a| + |b|, not to |a + b|.
inline Bounded operator+(const Bounded& a, const Bounded& b) {
  bounding::Sum sum;
  sum.add(a);
  sum.add(b);
  return sum.result();
}
inline Bounded& operator+=(Bounded& a, const Bounded& b) { return a = a + b; }
inline Bounded operator-(const Bounded& a, const Bounded& b) {
  return bounding::binary([](double x, double y) { return x - y; }, a, b, 1);
}
inline Bounded operator*(const Bounded& a, const Bounded& b) {
  return bounding::binary([](double x, double y) { return x * y; }, a, b, 1);
}
inline Bounded operator/(const Bounded& a, const Bounded& b) {
  const Bounded quotient = bounding::binary([](double x, double y) { return x / y; }, a, b, 2);
  return b.may_be_zero() && !quotient.is_nan() ? Bounded{quotient.value, bounding::kWild} : quotient;
}

namespace math {

inline double primal(const Bounded& a) { return a.value; }
inline Bounded maximum(const Bounded& a, const Bounded& b) {
  return bounding::binary([](double x, double y) { return std::isnan(x) || x > y ? x : y; }, a, b, 0);
}
inline Bounded minimum(const Bounded& a, const Bounded& b) {
  return bounding::binary([](double x, double y) { return std::isnan(x) || x < y ? x : y; }, a, b, 0);
}
inline Bounded exp(const Bounded& a) {
  return bounding::unary([](double x) { return std::exp(x); }, a, bounding::kFunctionRoundings);
}
inline Bounded log(const Bounded& a) {
  return bounding::unary([](double x) { return std::log(x); }, a, bounding::kFunctionRoundings);
}

}  // namespace math
}  // namespace smelt
