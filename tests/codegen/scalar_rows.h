// Test operands and expected results of the scalar operations, for tests of all backends. Each operation is a
// row of scalar_ops.def.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "ir/evaluate/scalar_reference.h"
#include "runtime/base/dtype.h"

namespace smelt::test {

/// Returns the type of an operand of a row that is tested with `type`. The first operand of a choice (select)
/// is always boolean.
inline DType operand_type(ScalarOp op, DType type, int operand) {
  return info(op).domain == Domain::choice && operand == 0 ? DType::boolean : type;
}

/// Returns test values of an operand: numbers for which the row is defined, and for floats also special
/// values (zeros of both signs, subnormal and large numbers, infinities, NaN). {0} if the row has no such
/// operand.
inline std::vector<double> operand_values(ScalarOp op, DType type, int operand) {
  if (operand >= info(op).arity) return {0};
  if (operand_type(op, type, operand) == DType::boolean) return {0, 1};
  std::vector<double> values = {-7, -3, -2, -1, 0, 1, 2, 5, 11};
  if (is_float(type)) values.insert(values.end(), {-1.5, -0.5, -0.01, 0.01, 0.3, 0.5, 1.7, 2.5});
  std::erase_if(values, [&](double x) { return x <= info(op).above; });
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (is_float(type))
    values.insert(values.end(), {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 0.0, -0.0,
                                 1e-40, -1e-40, 1e-38, 1e38, -1e38, 100, -100});
  return values;
}

struct Operands {
  double at[3];
};

/// Returns every combination of the values of three operands.
inline std::vector<Operands> operand_tuples(ScalarOp op, DType type) {
  std::vector<Operands> all;
  for (double a : operand_values(op, type, 0))
    for (double b : operand_values(op, type, 1))
      for (double c : operand_values(op, type, 2))
        all.push_back({static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)});
  return all;
}

/// Returns the expected result of a row. For integers (`real` is false), it is truncated if
/// info(op).truncates, and the function returns nothing if it is not finite.
inline std::optional<double> expected_value(ScalarOp op, bool real, const Operands& x) {
  const double y = apply(op, x.at[0], x.at[1], x.at[2]);
  if (real) return static_cast<float>(y);
  if (!std::isfinite(y)) return std::nullopt;
  return info(op).truncates ? std::trunc(y) : y;
}

/// Returns whether |is - expected| <= relative * |expected| + absolute. NaN is close to NaN only.
inline bool is_close(double is, double expected, double relative, double absolute) {
  if (std::isnan(expected)) return std::isnan(is);
  return is == expected || std::abs(is - expected) <= relative * std::abs(expected) + absolute;
}

}  // namespace smelt::test
