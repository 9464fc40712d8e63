// Filters of numbers.
#include <charconv>
#include <cmath>

#include "runtime/templates/arguments.h"
#include "runtime/templates/filter_tables.h"
#include "runtime/templates/formatting.h"
#include "runtime/templates/interpreter.h"
#include "runtime/templates/literals.h"
#include "runtime/templates/operators.h"

namespace smelt::templates {
namespace {

/// int(value) of a float.
Value truncated(double value) {
  if (std::isinf(value)) refuse("cannot convert float infinity to integer");
  if (std::abs(value) >= 9223372036854775808.0) unsupported("an integer has more than 64 bits");
  return Value(static_cast<int64_t>(value));
}

Value absolute(Interpreter&, const Value& subject, Arguments& arguments) {
  Parameters p("abs", arguments, {});
  int64_t whole = 0;
  require_defined(subject);
  if (subject.real()) return Value(std::abs(*subject.real()));
  if (!subject.whole(whole)) refuse("bad operand type for abs(): '{}'", subject.type());
  return whole < 0 ? negative(Value(whole)) : Value(whole);
}

Value to_integer(Interpreter&, const Value& subject, Arguments& arguments) {
  Parameters p("int", arguments, {"default", "base"});
  require_defined(subject);
  Value missing = p[0] ? *p[0] : Value(int64_t{0});
  int64_t whole = 0;
  double real = 0;
  if (subject.whole(whole)) return Value(whole);
  if (subject.real()) return std::isnan(*subject.real()) ? missing : truncated(*subject.real());
  if (!subject.text()) return missing;
  const int64_t base = p.integer(1, 10);
  const bool valid_base = base == 0 || (base >= 2 && base <= 36);
  const Parsed parsed =
      valid_base ? parse_int(subject.text()->bytes, static_cast<int>(base), whole) : Parsed::invalid;
  if (parsed == Parsed::too_large) unsupported("an integer has more than 64 bits");
  if (parsed == Parsed::value) return Value(whole);
  if (!parse_float(subject.text()->bytes, real) || std::isnan(real) || std::isinf(real)) return missing;
  return truncated(real);
}

Value to_float(Interpreter&, const Value& subject, Arguments& arguments) {
  Parameters p("float", arguments, {"default"});
  require_defined(subject);
  int64_t whole = 0;
  double real = 0;
  if (subject.whole(whole)) return Value(static_cast<double>(whole));
  if (subject.real()) return subject;
  if (subject.text() && parse_float(subject.text()->bytes, real)) return Value(real);
  return p[0] ? *p[0] : Value(0.0);
}

/// Rounds to a multiple of 10^-precision, half to even, as round() does.
Value round_integer(int64_t value, int64_t precision) {
  if (precision >= 0) return Value(value);
  if (precision < -18) return Value(int64_t{0});
  int64_t unit = 1;
  for (int64_t i = 0; i < -precision; ++i) unit *= 10;
  const int64_t rest = (value % unit + unit) % unit, low = value - rest;
  const bool up = rest > unit - rest || (rest == unit - rest && (low / unit) % 2 != 0);
  int64_t out = low;
  if (up && __builtin_add_overflow(low, unit, &out)) unsupported("an integer has more than 64 bits");
  return Value(out);
}

Value round_real(double value, int64_t precision) {
  if (!std::isfinite(value) || precision > 300) return Value(value);
  if (precision >= 0) return Value(parse_real(format_real(value, 'f', static_cast<int>(precision))));
  if (precision < -308) return Value(std::copysign(0.0, value));
  const std::string digits = format_real(std::abs(value), 'e', 17);
  const int64_t exponent = std::stoi(digits.substr(digits.find('e') + 1)), kept = exponent + precision;
  if (kept < -1) return Value(std::copysign(0.0, value));
  const double unit = std::pow(10.0, static_cast<double>(-precision));
  if (kept == -1) return Value(std::copysign(std::abs(value) > unit / 2 ? unit : 0.0, value));
  return Value(parse_real(format_real(value, 'e', static_cast<int>(kept))));
}

Value round_common(const Value& subject, int64_t precision) {
  int64_t whole = 0;
  if (subject.whole(whole)) return round_integer(whole, precision);
  return round_real(*subject.real(), precision);
}

Value round(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("round", arguments, {"precision", "method"});
  Budget& budget = interpreter.budget();
  const std::string method = p[1] ? str(budget, *p[1]) : "common";
  require_defined(subject);
  if (method != "common" && method != "ceil" && method != "floor")
    refuse("method must be common, ceil or floor");
  int64_t whole = 0;
  if (!subject.real() && !subject.whole(whole)) refuse("round() needs a number, not '{}'", subject.type());
  const int64_t precision = p.integer(0, 0);
  if (method == "common") return round_common(subject, precision);
  const Value unit = arithmetic(budget, Op::power, Value(int64_t{10}), Value(precision));
  const Value scaled = arithmetic(budget, Op::multiply, subject, unit);
  if (!scaled.real()) return arithmetic(budget, Op::divide, scaled, unit);
  if (std::isnan(*scaled.real())) refuse("cannot convert float NaN to integer");
  const Value rounded = truncated(method == "ceil" ? std::ceil(*scaled.real()) : std::floor(*scaled.real()));
  return arithmetic(budget, Op::divide, rounded, unit);
}

Value file_size(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("filesizeformat", arguments, {"binary"});
  Budget& budget = interpreter.budget();
  Arguments none;
  const Value number = to_float(interpreter, subject, none);
  double checked = 0;
  if (subject.text() ? !parse_float(subject.text()->bytes, checked)
                     : !subject.real() && !subject.integer() && !subject.boolean()) {
    refuse("filesizeformat() needs a number, not '{}'", subject.type());
  }
  const double bytes = *number.real(), base = p.truth(0) ? 1024 : 1000;
  if (bytes == 1) return make_text(budget, "1 Byte");
  if (bytes < base) return make_text(budget, fmt::format("{} Bytes", *truncated(bytes).integer()));
  if (std::isnan(bytes)) unsupported("filesizeformat of a float that is not a number is not supported");
  double unit = base * base;
  const std::string_view prefixes = "kMGTPEZY";
  size_t i = 0;
  while (i + 1 < prefixes.size() && bytes >= unit) {
    unit *= base;
    ++i;
  }
  std::string prefix(1, prefixes[i]);
  if (p.truth(0)) prefix = (i == 0 ? "K" : prefix) + "i";
  return make_text(budget, format_real(base * bytes / unit, 'f', 1) + " " + prefix + "B");
}

constexpr Filter kNumberFilters[] = {{"abs", absolute},
                                     {"filesizeformat", file_size},
                                     {"float", to_float},
                                     {"int", to_integer},
                                     {"round", round}};

}  // namespace

std::span<const Filter> number_filters() { return kNumberFilters; }

}  // namespace smelt::templates
