#include "codegen/printers/print_number.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace smelt {
namespace {

std::string real_text(double number) {
  const auto x = static_cast<float>(number);
  if (std::isnan(x)) return "__uint_as_float(0x7FC00000u)";
  if (std::isinf(x)) return x > 0 ? "sm_infinity()" : "-sm_infinity()";
  std::string text = fmt::format("{}", x);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

std::string wide_text(int64_t x) {
  return x == INT64_MIN ? "-9223372036854775807ll - 1" : fmt::format("{}ll", x);
}

std::string integer_text(int64_t x) {
  if (x > INT32_MAX || x < INT32_MIN) return wide_text(x);
  return x == INT32_MIN ? "-2147483647 - 1" : fmt::format("{}", x);
}

/// Masks are easier to read in hexadecimal.
std::string bits_text(int64_t bits) {
  return bits > 9 ? fmt::format("{:#x}u", bits) : fmt::format("{}u", bits);
}

}  // namespace

std::string number_text(const gpu::ExprNode& number) {
  switch (number.type.scalar) {
    case gpu::Scalar::flag:
      return number.integer != 0 ? "true" : "false";
    case gpu::Scalar::real:
      return real_text(number.real);
    case gpu::Scalar::int64:
      return wide_text(number.integer);
    case gpu::Scalar::bits:
      return bits_text(number.integer);
    default:
      return integer_text(number.integer);
  }
}

}  // namespace smelt
