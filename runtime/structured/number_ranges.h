// Languages of the decimal numbers that a JSON Schema allows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/structured/language.h"
#include "runtime/system/json_text.h"

namespace smelt::structured {

/// A bound of a number x. If `is_lower`, `value` <= x; otherwise x <= `value`. If `is_strict`, equality is
/// excluded.
struct NumberBound {
  std::string value;  // a JSON number
  bool is_lower, is_strict;
};

/// Bounds and divisors that a number must satisfy together.
struct NumberLimits {
  std::vector<NumberBound> bounds;
  std::vector<uint32_t> divisors;
  bool empty() const { return bounds.empty() && divisors.empty(); }
};

/// Returns the language of the integers within the limits, without fraction and exponent. Throws Error
/// (invalid_argument) if a bound has more than 60 digits.
Language integers_within(const NumberLimits& limits);

/// Returns the language of the numbers within the limits, without exponent. Numbers with a fraction have at
/// most 15 digits, so that conversion to double does not change their order. Requires: there are no divisors.
/// Throws like integers_within.
Language numbers_within(const NumberLimits& limits);

/// Returns a number in decimal notation without exponent; nothing if that needs more than 60 digits.
std::optional<std::string> plain_decimal(const std::string& json_number);

}  // namespace smelt::structured
