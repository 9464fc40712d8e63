#include "ir/analysis/real_range.h"

#include <algorithm>
#include <cmath>

#include "ir/evaluate/scalar_reference.h"

namespace smelt {
namespace {

using MaybeReals = std::optional<RealRange>;

/// Four times the error of a number that is rounded to bf16, which has 8 bits. Fast functions of GPUs are
/// closer.
constexpr double kRelativeError = 1.0 / 128;
/// Below it f16 has fewer bits, and numbers may become 0.
constexpr double kSmallest = 1.0 / 16384;
/// Whole numbers up to it are the same in all types.
constexpr double kLargestExact = 256;
/// Half of the largest number of f16.
constexpr double kLargest = 32752;

RealRange widened(const RealRange& x) {
  return {x.least - std::abs(x.least) * kRelativeError - kSmallest,
          x.most + std::abs(x.most) * kRelativeError + kSmallest};
}

bool fits(const RealRange& x) { return x.least >= -kLargest && x.most <= kLargest; }

/// Returns the result's range with the function's error. It may cross 0 only if the function may be negative.
MaybeReals approximated(ScalarOp op, const RealRange& exact) {
  RealRange x = widened(exact);
  if (info(op).non_negative == NonNegative::always) x.least = std::max(0.0, x.least);
  return fits(x) ? MaybeReals(x) : std::nullopt;
}

RealRange ends_of(std::initializer_list<double> numbers) {
  const auto [least, most] = std::minmax(numbers);
  return {least, most};
}

bool has_zero(const RealRange& x) { return x.least <= 0 && x.most >= 0; }

MaybeReals divide(const RealRange& a, const RealRange& b) {
  if (has_zero(b)) return std::nullopt;
  return rounded(ends_of({a.least / b.least, a.least / b.most, a.most / b.least, a.most / b.most}));
}

RealRange absolute(const RealRange& a) {
  const RealRange ends = ends_of({std::abs(a.least), std::abs(a.most)});
  return has_zero(a) ? RealRange{0, ends.most} : ends;
}

/// Returns the range of a function without a turning point above `info(op).above`: between its values at the
/// ends.
MaybeReals monotone(ScalarOp op, const RealRange& a) {
  if (a.least <= info(op).above) return std::nullopt;
  return approximated(op, ends_of({apply<double>(op, a.least), apply<double>(op, a.most)}));
}

}  // namespace

std::optional<RealRange> rounded(const RealRange& exact) {
  RealRange x = widened(exact);
  // Rounding goes to a neighbour, so that it changes no sign.
  if (exact.least >= 0) x.least = std::max(0.0, x.least);
  if (exact.most <= 0) x.most = std::min(0.0, x.most);
  return fits(x) ? MaybeReals(x) : std::nullopt;
}

std::optional<RealRange> whole_numbers(const RealRange& exact) {
  const bool same = exact.least >= -kLargestExact && exact.most <= kLargestExact;
  return same ? MaybeReals(exact) : rounded(exact);
}

std::optional<RealRange> real_result(ScalarOp op, llvm::ArrayRef<RealRange> operands) {
  const RealRange a = operands[0], b = operands.size() > 1 ? operands[1] : RealRange{};
  switch (op) {
    case ScalarOp::add:
      return rounded({a.least + b.least, a.most + b.most});
    case ScalarOp::sub:
      return rounded({a.least - b.most, a.most - b.least});
    case ScalarOp::mul:
      return rounded(ends_of({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most}));
    case ScalarOp::div:
      return divide(a, b);
    case ScalarOp::reciprocal:
      return divide({1, 1}, a);
    case ScalarOp::max:
      return RealRange{std::max(a.least, b.least), std::max(a.most, b.most)};
    case ScalarOp::min:
      return RealRange{std::min(a.least, b.least), std::min(a.most, b.most)};
    case ScalarOp::neg:
      return RealRange{-a.most, -a.least};
    case ScalarOp::abs:
      return absolute(a);
    case ScalarOp::sign:
    case ScalarOp::floor:
    case ScalarOp::round:
      return whole_numbers({apply<double>(op, a.least), apply<double>(op, a.most)});
    case ScalarOp::exp:
    case ScalarOp::expm1:
    case ScalarOp::log:
    case ScalarOp::log1p:
    case ScalarOp::sqrt:
    case ScalarOp::rsqrt:
    case ScalarOp::tanh:
    case ScalarOp::sigmoid:
    case ScalarOp::erf:
    case ScalarOp::erfc:
      return monotone(op, a);
    case ScalarOp::sin:
    case ScalarOp::cos:
      return approximated(op, {-1, 1});
    default:
      return std::nullopt;
  }
}

}  // namespace smelt
