#include "runtime/structured/number_ranges.h"

#include <fmt/format.h>

#include <charconv>

#include "runtime/base/error.h"
#include "runtime/structured/regex.h"

namespace smelt::structured {
namespace {

constexpr int kMostDigits = 60;
constexpr const char* kFraction = "(?:\\.[0-9]+)?";

/// The digits of a number's magnitude. The integer has no leading zero but "0", and the fraction no trailing
/// zero.
struct Decimal {
  bool is_negative = false;
  std::string integer = "0", fraction;
  bool is_zero() const { return integer == "0" && fraction.empty(); }
};

std::optional<Decimal> decimal_of(const std::string& number) {
  Decimal result{.is_negative = number.starts_with('-'), .integer = "0", .fraction = ""};
  const std::string magnitude = number.substr(result.is_negative ? 1 : 0);
  const size_t mark = std::min(magnitude.find_first_of("eE"), magnitude.size());
  std::string digits = magnitude.substr(0, mark);
  int exponent = 0;
  if (mark < magnitude.size()) {
    const char* begin = magnitude.data() + mark + 1;
    if (*begin == '+') ++begin;
    if (std::from_chars(begin, magnitude.data() + magnitude.size(), exponent).ec != std::errc())
      return std::nullopt;
  }
  const size_t point = std::min(digits.find('.'), digits.size());
  if (point < digits.size()) digits.erase(point, 1);
  if (exponent > kMostDigits || exponent < -kMostDigits || digits.size() > kMostDigits) return std::nullopt;
  const int before = static_cast<int>(point) + exponent;  // digits before the point
  if (before < 0) digits.insert(0, static_cast<size_t>(-before), '0');
  const auto split = static_cast<size_t>(std::max(before, 0));
  if (split > digits.size()) digits.append(split - digits.size(), '0');
  result.integer = digits.substr(0, split);
  result.fraction = digits.substr(split);
  result.integer.erase(0, std::min(result.integer.find_first_not_of('0'), result.integer.size()));
  if (result.integer.empty()) result.integer = "0";
  while (result.fraction.ends_with('0')) result.fraction.pop_back();
  return result;
}

Decimal checked_decimal(const std::string& number) {
  const auto decimal = decimal_of(number);
  if (!decimal)
    fail("JSON Schema: the bound {} has too many digits, expected at most {}", number, kMostDigits);
  return *decimal;
}

std::string digit_between(char first, char last) { return fmt::format("[{}-{}]", first, last); }

/// Expressions of the magnitudes that compare to a bound. They are joined by '|'.
class Magnitudes {
 public:
  Magnitudes(const Decimal& bound, bool is_strict, bool integers)
      : integer_(bound.integer), fraction_(bound.fraction), is_strict_(is_strict), integers_(integers) {}

  std::string at_least() {
    const size_t n = integer_.size();
    add(fmt::format("[1-9][0-9]{{{},}}{}", n, any_fraction()));
    for (size_t i = 0; i < n; ++i)
      if (integer_[i] < '9') add(same_length(i, digit_between(static_cast<char>(integer_[i] + 1), '9')));
    add_fraction_at_least();
    return joined();
  }

  std::string at_most() {
    const size_t n = integer_.size();
    if (n > 1) add(fmt::format("(?:0|[1-9][0-9]{{0,{}}}){}", n - 2, any_fraction()));
    for (size_t i = 0; i < n; ++i) {
      const char least = i == 0 && n > 1 ? '1' : '0';
      if (integer_[i] > least) add(same_length(i, digit_between(least, static_cast<char>(integer_[i] - 1))));
    }
    add_fraction_at_most();
    return joined();
  }

 private:
  const char* any_fraction() const { return integers_ ? "" : kFraction; }
  void add(std::string alternative) { all_.push_back(std::move(alternative)); }
  std::string same_length(size_t i, const std::string& digit) const {
    return fmt::format("{}{}[0-9]{{{}}}{}", integer_.substr(0, i), digit, integer_.size() - i - 1,
                       any_fraction());
  }

  void add_fraction_at_least() {
    const bool is_equal_allowed = !is_strict_ && fraction_.empty();
    if (is_equal_allowed) add(integer_);
    if (integers_) return;
    for (size_t i = 0; i < fraction_.size(); ++i)
      if (fraction_[i] < '9')
        add(fmt::format("{}\\.{}{}[0-9]*", integer_, fraction_.substr(0, i),
                        digit_between(static_cast<char>(fraction_[i] + 1), '9')));
    if (is_strict_) return add(fmt::format("{}\\.{}0*[1-9][0-9]*", integer_, fraction_));
    add(fmt::format("{}\\.{}[0-9]{}", integer_, fraction_, fraction_.empty() ? "+" : "*"));
  }

  void add_fraction_at_most() {
    if (!is_strict_ || !fraction_.empty()) add(integer_);
    if (integers_) return;
    for (size_t i = 0; i < fraction_.size(); ++i) {
      if (i > 0) add(fmt::format("{}\\.{}", integer_, fraction_.substr(0, i)));
      if (fraction_[i] > '0')
        add(fmt::format("{}\\.{}{}[0-9]*", integer_, fraction_.substr(0, i),
                        digit_between('0', static_cast<char>(fraction_[i] - 1))));
    }
    if (!is_strict_) add(fmt::format("{}\\.{}0{}", integer_, fraction_, fraction_.empty() ? "+" : "*"));
  }

  std::string joined() const { return fmt::format("(?:{})", fmt::join(all_, "|")); }

  std::string integer_, fraction_;
  bool is_strict_, integers_;
  std::vector<std::string> all_;
};

std::string bound_expression(const NumberBound& bound, bool integers) {
  const Decimal decimal = checked_decimal(bound.value);
  const std::string any = std::string("(?:0|[1-9][0-9]*)") + (integers ? "" : kFraction);
  Magnitudes magnitudes(decimal, bound.is_strict, integers);
  const bool is_negative = decimal.is_negative && !decimal.is_zero();
  if (bound.is_lower) return is_negative ? any + "|-" + magnitudes.at_most() : magnitudes.at_least();
  if (is_negative) return "-" + magnitudes.at_least();
  if (decimal.is_zero() && bound.is_strict) return "-" + magnitudes.at_least();
  return "-" + any + "|" + magnitudes.at_most();
}

Language language_of(const std::string& expression) {
  Grammar grammar;
  return Language::of(parse_regex(expression, grammar), grammar);
}

Language within(const NumberLimits& limits, Language numbers, bool integers) {
  for (const NumberBound& bound : limits.bounds)
    numbers = numbers & language_of(bound_expression(bound, integers));
  for (const uint32_t divisor : limits.divisors) numbers = numbers & Language::of_multiples(divisor);
  return numbers;
}

}  // namespace

Language integers_within(const NumberLimits& limits) {
  return within(limits, language_of("-?(?:0|[1-9][0-9]*)"), true);
}

Language numbers_within(const NumberLimits& limits) {
  const Language numbers = language_of(std::string("-?(?:0|[1-9][0-9]*)") + kFraction);
  return within(limits, numbers & language_of("-?[0-9]+|-?(?:[0-9]\\.?){1,15}"), false);
}

std::optional<std::string> plain_decimal(const std::string& json_number) {
  const auto decimal = decimal_of(json_number);
  if (!decimal) return std::nullopt;
  const char* sign = decimal->is_negative && !decimal->is_zero() ? "-" : "";
  return sign + decimal->integer + (decimal->fraction.empty() ? "" : "." + decimal->fraction);
}

}  // namespace smelt::structured
