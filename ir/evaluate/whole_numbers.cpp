#include "ir/evaluate/whole_numbers.h"

#include <cmath>
#include <limits>

namespace smelt {
namespace {

template <typename T>
int64_t saturated(double x) {
  constexpr double kBeyond = -static_cast<double>(std::numeric_limits<T>::min());  // 2^31 or 2^63
  if (std::isnan(x)) return 0;
  if (x >= kBeyond) return std::numeric_limits<T>::max();
  return x < -kBeyond ? std::numeric_limits<T>::min() : static_cast<int64_t>(x);
}

int64_t whole(double x) { return saturated<int64_t>(x); }

/// Truncating; x / 0 = x, and the least number by -1 is itself.
int64_t quotient(int64_t x, int64_t y) {
  if (y == 0) return x;
  return y == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x / y;
}

/// Modulo 2^64.
std::optional<uint64_t> in_64_bits(ScalarOp op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case ScalarOp::add:
      return x + y;
    case ScalarOp::sub:
      return x - y;
    case ScalarOp::mul:
      return x * y;
    case ScalarOp::div:
      return static_cast<uint64_t>(quotient(a, b));
    case ScalarOp::neg:
      return 0 - x;
    case ScalarOp::abs:
      return a < 0 ? 0 - x : x;
    default:
      return std::nullopt;
  }
}

}  // namespace

int64_t wrapped(DType type, int64_t x) {
  switch (type) {
    case DType::i32:
      return static_cast<int32_t>(x);
    case DType::u16:
      return static_cast<uint16_t>(x);
    case DType::u8:
      return static_cast<uint8_t>(x);
    case DType::i8:
      return static_cast<int8_t>(x);
    case DType::boolean:
      return x != 0;
    default:
      return x;
  }
}

int64_t converted_to_integer(DType from, DType to, double x) {
  if (!is_float(from) || to == DType::i64) return wrapped(to, whole(x));
  return wrapped(to, saturated<int32_t>(x));
}

std::optional<int64_t> whole_result(ScalarOp op, DType type, const std::array<double, 3>& operands) {
  const auto result = in_64_bits(op, whole(operands[0]), whole(operands[1]));
  return result ? std::optional(wrapped(type, static_cast<int64_t>(*result))) : std::nullopt;
}

bool is_double(int64_t x) {
  const auto number = static_cast<double>(x);
  return number < 0x1p63 && static_cast<int64_t>(number) == x;
}

}  // namespace smelt
