#include "runtime/templates/operators.h"

#include <cmath>
#include <limits>

#include "runtime/templates/characters.h"
#include "runtime/templates/formatting.h"
#include "runtime/templates/objects.h"

namespace smelt::templates {
namespace {

constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
std::string_view sign_of(Op op) { return kSigns[static_cast<int>(op) - static_cast<int>(Op::add)]; }

[[noreturn]] void refuse_operands(Op op, const Value& a, const Value& b) {
  refuse("unsupported operand type(s) for {}: '{}' and '{}'", sign_of(op), a.type(), b.type());
}

[[noreturn]] void refuse_large(Op op) { unsupported("the result of {} has more than 64 bits", sign_of(op)); }

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) refuse("integer division or modulo by zero");
  if (a == INT64_MIN && b == -1) refuse_large(Op::floor_divide);
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t modulo(int64_t a, int64_t b) {
  if (b == 0) refuse("integer modulo by zero");
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double real_modulo(double a, double b) {
  if (b == 0) refuse("float modulo");
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

double real_floor_divide(double a, double b) {
  if (b == 0) refuse("float floor division by zero");
  const double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (b < 0) != (remainder < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Value integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) refuse("0.0 cannot be raised to a negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) refuse_large(Op::power);
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) refuse_large(Op::power);
  }
  return Value(result);
}

/// Whether a / b, rounded once, equals the quotient of the rounded numbers.
bool exact(int64_t a) { return std::abs(static_cast<double>(a)) <= 9007199254740992.0; }

Value true_divide(int64_t a, int64_t b) {
  if (b == 0) refuse("division by zero");
  if (exact(a) && exact(b)) return Value(static_cast<double>(a) / static_cast<double>(b));
  return Value(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
}

Value integers(Op op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case Op::add:
      if (__builtin_add_overflow(a, b, &out)) refuse_large(op);
      return Value(out);
    case Op::subtract:
      if (__builtin_sub_overflow(a, b, &out)) refuse_large(op);
      return Value(out);
    case Op::multiply:
      if (__builtin_mul_overflow(a, b, &out)) refuse_large(op);
      return Value(out);
    case Op::divide:
      return true_divide(a, b);
    case Op::floor_divide:
      return Value(floor_divide(a, b));
    case Op::modulo:
      return Value(modulo(a, b));
    default:
      return integer_power(a, b);
  }
}

Value real_power(double a, double b) {
  if (a == 0 && b < 0) refuse("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
    unsupported("a power of a negative number is complex: complex numbers are not supported");
  }
  const double out = std::pow(a, b);
  if (std::isinf(out) && std::isfinite(a) && std::isfinite(b))
    refuse("the result of ** is too large for a float");
  return Value(out);
}

Value reals(Op op, double a, double b) {
  switch (op) {
    case Op::add:
      return Value(a + b);
    case Op::subtract:
      return Value(a - b);
    case Op::multiply:
      return Value(a * b);
    case Op::divide:
      if (b == 0) refuse("float division by zero");
      return Value(a / b);
    case Op::floor_divide:
      return Value(real_floor_divide(a, b));
    case Op::modulo:
      return Value(real_modulo(a, b));
    default:
      return real_power(a, b);
  }
}

bool as_real(const Value& value, double& out) {
  int64_t whole = 0;
  if (value.real()) {
    out = *value.real();
  } else if (value.whole(whole)) {
    out = static_cast<double>(whole);
  } else {
    return false;
  }
  return true;
}

Value add_texts(Budget& budget, const Value& a, const Value& b) {
  const bool safe = a.text()->safe || b.text()->safe;
  const Value left = safe ? escape_html(budget, a) : a, right = safe ? escape_html(budget, b) : b;
  budget.spend_text(left.text()->bytes.size() + right.text()->bytes.size());
  return make_text(budget, left.text()->bytes + right.text()->bytes, safe);
}

std::vector<Value> joined(const std::vector<Value>& a, const std::vector<Value>& b) {
  std::vector<Value> out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

Value repeat(Budget& budget, const Value& value, int64_t times) {
  times = std::max<int64_t>(times, 0);
  if (const Text* text = value.text()) {
    TextBuilder out(budget);
    if (!text->bytes.empty()) out.append(text->bytes, times);
    return make_text(budget, out.take(), text->safe);
  }
  const auto& items = *value.sequence();
  if (items.empty()) return value.list() ? make_list(budget, {}) : value;
  if (static_cast<uint64_t>(times) > budget.limits().steps) budget.spend(budget.limits().steps + 1);
  budget.spend(items.size() * static_cast<uint64_t>(times));
  std::vector<Value> out;
  for (int64_t i = 0; i < times; ++i) out.insert(out.end(), items.begin(), items.end());
  return value.list() ? make_list(budget, std::move(out)) : make_tuple(budget, std::move(out));
}

bool repeatable(const Value& value) { return value.text() || value.sequence(); }

/// An index of a slice, clipped to [low, high].
int64_t clipped(const Value* value, int64_t missing, int64_t length, int64_t low, int64_t high) {
  if (!value || value->none()) return missing;
  int64_t index = 0;
  if (!value->whole(index)) {
    require_defined(*value);
    refuse("slice indices must be integers or None, not '{}'", value->type());
  }
  if (index < 0) index = index < -length ? low : index + length;
  return std::max(low, std::min(index, high));
}

std::vector<Value> selected(const std::vector<Value>& items, const Selection& s) {
  std::vector<Value> out;
  for (int64_t i = 0; i < s.count; ++i) out.push_back(items[s.start + i * s.step]);
  return out;
}

Value slice_text(Budget& budget, const Text& text, const Selection& s) {
  if (text.ascii() && s.step == 1) return make_text(budget, text.bytes.substr(s.start, s.count), text.safe);
  budget.spend(text.bytes.size() / 16);
  const std::u32string points = decode(text.bytes);
  std::u32string out;
  for (int64_t i = 0; i < s.count; ++i) out += points[s.start + i * s.step];
  return make_text(budget, encode(out), text.safe);
}

}  // namespace

Value escape_html(Budget& budget, const Value& value) {
  if (value.text() && value.text()->safe) return value;
  TextBuilder out(budget);
  for (const char c : str(budget, value)) {
    switch (c) {
      case '&':
        out.append("&amp;");
        break;
      case '<':
        out.append("&lt;");
        break;
      case '>':
        out.append("&gt;");
        break;
      case '\'':
        out.append("&#39;");
        break;
      case '"':
        out.append("&#34;");
        break;
      default:
        out.append({&c, 1});
    }
  }
  return make_text(budget, out.take(), true);
}

Value arithmetic(Budget& budget, Op op, const Value& a, const Value& b) {
  budget.spend(1);
  int64_t i = 0, j = 0;
  double x = 0, y = 0;
  if (a.whole(i) && b.whole(j)) return integers(op, i, j);
  if (as_real(a, x) && as_real(b, y)) return reals(op, x, y);
  if (op == Op::modulo && a.text()) return format_percent(budget, *a.text(), b);
  require_defined(a);
  require_defined(b);
  if (op == Op::add && a.text() && b.text()) return add_texts(budget, a, b);
  if (op == Op::add && a.list() && b.list())
    return make_list(budget, joined(a.list()->items, b.list()->items));
  if (op == Op::add && a.tuple() && b.tuple())
    return make_tuple(budget, joined(a.tuple()->items, b.tuple()->items));
  if (op == Op::multiply && repeatable(a) && b.whole(j)) return repeat(budget, a, j);
  if (op == Op::multiply && repeatable(b) && a.whole(i)) return repeat(budget, b, i);
  refuse_operands(op, a, b);
}

Value negative(const Value& value) {
  int64_t whole = 0;
  require_defined(value);
  if (value.real()) return Value(-*value.real());
  if (!value.whole(whole)) refuse("bad operand type for unary -: '{}'", value.type());
  if (whole == INT64_MIN) refuse_large(Op::subtract);
  return Value(-whole);
}

Value positive(const Value& value) {
  int64_t whole = 0;
  require_defined(value);
  if (value.real()) return value;
  if (!value.whole(whole)) refuse("bad operand type for unary +: '{}'", value.type());
  return Value(whole);
}

Selection select(int64_t length, const Value* start, const Value* stop, const Value* step) {
  Selection s;
  if (step && !step->none()) {
    require_defined(*step);
    if (!step->whole(s.step)) refuse("slice indices must be integers or None, not '{}'", step->type());
  }
  if (s.step == 0) refuse("slice step cannot be zero");
  s.step = std::max(s.step, -INT64_MAX);
  const int64_t low = s.step < 0 ? -1 : 0, high = s.step < 0 ? length - 1 : length;
  s.start = clipped(start, s.step < 0 ? high : low, length, low, high);
  const int64_t end = clipped(stop, s.step < 0 ? low : high, length, low, high);
  if (s.step > 0 && end > s.start) s.count = (end - s.start - 1) / s.step + 1;
  if (s.step < 0 && end < s.start) s.count = (s.start - end - 1) / -s.step + 1;
  return s;
}

Value slice(Budget& budget, const Value& value, const Value* start, const Value* stop, const Value* step) {
  require_defined(value);
  if (const Text* text = value.text()) {
    return slice_text(budget, *text, select(static_cast<int64_t>(text->length), start, stop, step));
  }
  if (const auto* items = value.sequence()) {
    auto out = selected(*items, select(static_cast<int64_t>(items->size()), start, stop, step));
    return value.list() ? make_list(budget, std::move(out)) : make_tuple(budget, std::move(out));
  }
  if (const auto* range = value.object_of<Range>()) {
    const Selection s = select(range->count(), start, stop, step);
    // A selection of a range has at most as many elements, so nothing here overflows but the end's last step.
    int64_t by = 0, from = 0, to = 0;
    if (__builtin_mul_overflow(range->step, s.step, &by) ||
        __builtin_mul_overflow(s.start, range->step, &from) ||
        __builtin_add_overflow(from, range->start, &from) || __builtin_mul_overflow(by, s.count, &to) ||
        __builtin_add_overflow(to, from, &to)) {
      unsupported("a slice of a range has numbers of more than 64 bits");
    }
    return make_object<Range>(budget, from, to, by);
  }
  if (value.dict()) refuse("unhashable type: 'slice'");
  refuse("'{}' object is not subscriptable", value.type());
}

}  // namespace smelt::templates
