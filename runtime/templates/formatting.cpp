#include "runtime/templates/formatting.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/templates/characters.h"
#include "runtime/templates/interpreter.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::templates {
namespace {

constexpr int64_t kMaxPrecision = 1000;

/// A conversion: of % ("%+5.2f") or of braces ("{:+5.2f}").
struct Spec {
  std::string fill = " ";
  char align = 0;  // < > = ^, or 0
  char sign = '-';
  bool alternate = false, zero = false;
  int64_t width = 0, precision = -1;
  char group = 0;  // , or _
  char form = 0;
};

int64_t read_number(std::string_view text, size_t& at) {
  int64_t value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = value * 10 + (text[at++] - '0');
    if (value > INT32_MAX) refuse("a width or precision of a format is too large");
  }
  return value;
}

/// Writes `sign` and `digits` with the width and alignment of the spec.
void append_padded(TextBuilder& out, const Spec& spec, std::string_view sign, std::string_view digits,
                   char align) {
  const int64_t used = static_cast<int64_t>(sign.size() + count_code_points(digits));
  const int64_t missing = std::max<int64_t>(spec.width - used, 0);
  if (spec.align) align = spec.align;
  const int64_t left = align == '<' || align == '=' ? 0 : align == '^' ? missing / 2 : missing;
  out.append(spec.fill, left);
  out.append(sign);
  if (align == '=') out.append(spec.fill, missing);
  out.append(digits);
  if (align != '=') out.append(spec.fill, missing - left);
}

std::string_view sign_text(bool negative, char mode) {
  return negative ? "-" : mode == '+' ? "+" : mode == ' ' ? " " : "";
}

/// Puts a separator between groups of digits, of the part before the point.
std::string grouped(const std::string& digits, char separator, size_t size) {
  const size_t end = std::min(digits.size(), digits.find_first_of(".e"));
  std::string out;
  for (size_t i = 0; i < end; ++i) {
    if (i > 0 && (end - i) % size == 0) out += separator;
    out += digits[i];
  }
  return out + digits.substr(end);
}

std::string upper_ascii(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c & ~0x20 : c; });
  return text;
}

uint64_t magnitude(int64_t value) { return value < 0 ? 0 - static_cast<uint64_t>(value) : value; }

std::string cut(const std::string& text, int64_t points) {
  if (points < 0) return text;
  size_t at = 0;
  while (at < text.size() && points-- > 0) at += code_point_at(text, at).bytes;
  return text.substr(0, at);
}

// ---- The operator %

class Percent {
 public:
  Percent(Budget& budget, const Text& format, const Value& argument)
      : budget_(budget), format_(format.bytes), argument_(argument), out_(budget) {}

  std::string run() {
    while (at_ < format_.size()) {
      const size_t sign = std::min(format_.find('%', at_), format_.size());
      out_.append(format_.substr(at_, sign - at_));
      at_ = sign;
      if (at_ < format_.size()) convert();
    }
    const bool mapping =
        argument_.undefined() || argument_.dict() || argument_.list() || argument_.object_of<Range>();
    const size_t given = argument_.tuple() ? argument_.tuple()->items.size() : 1;
    if (used_ < given && !mapping && !named_) refuse("not all arguments converted during string formatting");
    return out_.take();
  }

 private:
  char peek() {
    if (at_ >= format_.size()) refuse("incomplete format");
    return format_[at_];
  }

  Value next() {
    if (key_) {
      named_ = true;
      const Value* found = argument_.dict()->find(*key_);
      if (!found) refuse("KeyError: '{}'", *key_);
      used_ = 1;
      return *found;
    }
    const Tuple* tuple = argument_.tuple();
    if (used_ >= (tuple ? tuple->items.size() : 1)) refuse("not enough arguments for format string");
    return tuple ? tuple->items[used_++] : (++used_, argument_);
  }

  void read_key() {
    key_.reset();
    if (peek() != '(') return;
    if (!argument_.dict()) refuse("format requires a mapping");
    const size_t begin = ++at_;
    for (int open = 1; open > 0; ++at_) open += peek() == '(' ? 1 : peek() == ')' ? -1 : 0;
    key_ = std::string(format_.substr(begin, at_ - 1 - begin));
  }

  int64_t read_size() {
    if (peek() != '*') return read_number(format_, at_);
    ++at_;
    int64_t value = 0;
    const Value given = next();
    if (!given.integer() && !given.boolean()) refuse("* wants int");
    given.whole(value);
    if (value > INT32_MAX || value < -INT32_MAX) refuse("a width or precision of a format is too large");
    return value;
  }

  void convert() {
    ++at_;
    Spec spec;
    read_key();
    for (std::string_view flags = "-+ #0"; flags.find(peek()) != std::string_view::npos; ++at_) {
      const char flag = format_[at_];
      if (flag == '-') spec.align = '<';
      if (flag == '+' || (flag == ' ' && spec.sign != '+')) spec.sign = flag;
      spec.alternate |= flag == '#';
      spec.zero |= flag == '0';
    }
    spec.width = read_size();
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (peek() == '.') {
      ++at_;
      spec.precision = std::max<int64_t>(read_size(), 0);
    }
    if (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
    spec.form = peek();
    ++at_;
    if (spec.form == '%') return out_.append("%");
    append(spec, next());
  }

  void append(Spec& spec, const Value& value) {
    switch (spec.form) {
      case 's':
        return append_text(spec, str(budget_, value));
      case 'r':
        return append_text(spec, repr(budget_, value));
      case 'a':
        unsupported("the conversion %a is not supported");
      case 'c':
        return append_character(spec, value);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return append_integer(spec, value);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return append_real(spec, value);
      default:
        refuse("unsupported format character '{}'", std::string_view(&spec.form, 1));
    }
  }

  void append_text(const Spec& spec, const std::string& text) {
    append_padded(out_, spec, "", cut(text, spec.precision), '>');
  }

  void append_character(const Spec& spec, const Value& value) {
    int64_t code = 0;
    if (value.text() && value.text()->length == 1)
      return append_padded(out_, spec, "", value.text()->bytes, '>');
    if (!value.whole(code)) refuse("%c requires int or char");
    if (code < 0 || code > 0x10FFFF) refuse("%c arg not in range(0x110000)");
    if (code >= 0xD800 && code < 0xE000) unsupported("half of a surrogate pair is not supported");
    std::string text;
    append_utf8(text, static_cast<char32_t>(code));
    append_padded(out_, spec, "", text, '>');
  }

  int64_t integer_of(const Spec& spec, const Value& value) {
    int64_t whole = 0;
    require_defined(value);
    if (value.whole(whole)) return whole;
    const bool decimal = spec.form == 'd' || spec.form == 'i' || spec.form == 'u';
    if (!value.real() || !decimal)
      refuse("%{} format: an integer is required, not {}", spec.form, value.type());
    if (std::isnan(*value.real()) || std::isinf(*value.real())) refuse("cannot convert float to integer");
    if (std::abs(*value.real()) >= 9223372036854775807.0) unsupported("an integer has more than 64 bits");
    return static_cast<int64_t>(*value.real());
  }

  void append_number(Spec& spec, bool negative, const std::string& prefix, const std::string& digits) {
    const std::string sign = std::string(sign_text(negative, spec.sign)) + prefix;
    if (spec.zero && !spec.align) {
      spec.fill = "0";
      spec.align = '=';
    }
    append_padded(out_, spec, sign, digits, '>');
  }

  void append_integer(Spec& spec, const Value& value) {
    const int64_t whole = integer_of(spec, value);
    const bool decimal = spec.form == 'd' || spec.form == 'i' || spec.form == 'u';
    std::string digits = format_magnitude(magnitude(whole), decimal ? 'd' : spec.form);
    if (spec.precision > kMaxPrecision)
      unsupported("a precision of more than {} digits is not supported", kMaxPrecision);
    if (static_cast<int64_t>(digits.size()) < spec.precision)
      digits.insert(0, spec.precision - digits.size(), '0');
    append_number(spec, whole < 0, spec.alternate && !decimal ? std::string("0") + spec.form : "", digits);
  }

  void append_real(Spec& spec, const Value& value) {
    int64_t whole = 0;
    require_defined(value);
    if (!value.real() && !value.whole(whole)) refuse("must be real number, not {}", value.type());
    const double number = value.real() ? *value.real() : static_cast<double>(whole);
    if (spec.precision > kMaxPrecision)
      unsupported("a precision of more than {} digits is not supported", kMaxPrecision);
    std::string digits = format_real(std::abs(number), spec.form | 0x20,
                                     spec.precision < 0 ? 6 : spec.precision, spec.alternate);
    if (!(spec.form & 0x20)) digits = upper_ascii(digits);
    append_number(spec, std::signbit(number) && !std::isnan(number), "", digits);
  }

  Budget& budget_;
  std::string_view format_;
  const Value& argument_;
  TextBuilder out_;
  size_t at_ = 0, used_ = 0;
  bool named_ = false;
  std::optional<std::string> key_;
};

// ---- The method format

Spec parse_spec(std::string_view text) {
  Spec spec;
  size_t at = 0;
  const auto aligns = [&](size_t i) {
    return i < text.size() && std::string_view("<>=^").find(text[i]) != std::string_view::npos;
  };
  const size_t first = text.empty() ? 0 : code_point_at(text, 0).bytes;
  if (first && aligns(first)) {
    spec.fill = std::string(text.substr(0, first));
    spec.align = text[first];
    at = first + 1;
  } else if (aligns(0)) {
    spec.align = text[at++];
  }
  const auto take = [&](char c) {
    const bool here = at < text.size() && text[at] == c;
    at += here;
    return here;
  };
  for (const char sign : {'+', '-', ' '}) {
    if (take(sign)) {
      spec.sign = sign;
      break;
    }
  }
  if (take('z')) unsupported("the option z of formats is not supported");
  spec.alternate = take('#');
  spec.zero = take('0');
  spec.width = read_number(text, at);
  if (take(',')) spec.group = ',';
  if (take('_')) {
    if (spec.group) refuse("cannot specify both ',' and '_'");
    spec.group = '_';
  }
  if (take('.')) {
    const size_t begin = at;
    spec.precision = read_number(text, at);
    if (at == begin) refuse("format specifier missing precision");
  }
  if (at < text.size()) spec.form = text[at++];
  if (at < text.size()) refuse("invalid format specifier '{}'", text);
  if (spec.zero && !spec.align) {
    spec.align = '=';
    if (spec.fill == " ") spec.fill = "0";
  }
  return spec;
}

void format_text(TextBuilder& out, Spec spec, const std::string& text) {
  if (spec.form && spec.form != 's') refuse("unknown format code '{}' for object of type 'str'", spec.form);
  if (spec.sign != '-' || spec.alternate || spec.group) refuse("this format is not allowed for a str");
  if (spec.align == '=' && spec.zero) spec.align = '<';
  if (spec.align == '=') refuse("'=' alignment not allowed in string format specifier");
  append_padded(out, spec, "", cut(text, spec.precision), '<');
}

void format_number(TextBuilder& out, const Spec& spec, bool negative, const std::string& prefix,
                   std::string digits, size_t group) {
  if (spec.group && spec.align == '=' && spec.fill == "0")
    unsupported("zeros with a separator of groups are not supported");
  if (spec.group) digits = grouped(digits, spec.group, group);
  append_padded(out, spec, std::string(sign_text(negative, spec.sign)) + prefix, digits, '>');
}

void format_real_value(TextBuilder& out, const Spec& spec, double value) {
  std::string digits;
  const char low = spec.form | 0x20;
  if (spec.precision > kMaxPrecision)
    unsupported("a precision of more than {} digits is not supported", kMaxPrecision);
  const int precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
  if (!spec.form && (spec.precision >= 0 || spec.alternate))
    unsupported("a precision without a type is not supported for floats: write 'f' or 'g'");
  if (!spec.form) {
    digits = real_text(std::abs(value));
  } else if (spec.form == '%') {
    digits = format_real(std::abs(value) * 100, 'f', precision, spec.alternate) + "%";
  } else if (std::string_view("efgEFG").find(spec.form) != std::string_view::npos) {
    digits = format_real(std::abs(value), low, precision, spec.alternate);
    if (!(spec.form & 0x20)) digits = upper_ascii(digits);
  } else if (spec.form == 'n') {
    unsupported("the format 'n' is not supported: it depends on the locale");
  } else {
    refuse("unknown format code '{}' for object of type 'float'", spec.form);
  }
  format_number(out, spec, std::signbit(value) && !std::isnan(value), "", digits, 3);
}

void format_integer(TextBuilder& out, Spec spec, int64_t value) {
  if (spec.form && std::string_view("efgEFG%").find(spec.form) != std::string_view::npos) {
    return format_real_value(out, spec, static_cast<double>(value));
  }
  if (spec.form == 'n') unsupported("the format 'n' is not supported: it depends on the locale");
  if (spec.precision >= 0) refuse("precision not allowed in integer format specifier");
  if (spec.form == 'c') unsupported("the format 'c' is not supported");
  if (spec.form && std::string_view("dxXob").find(spec.form) == std::string_view::npos) {
    refuse("unknown format code '{}' for object of type 'int'", spec.form);
  }
  const char form = spec.form ? spec.form : 'd';
  if (spec.group == ',' && form != 'd') refuse("cannot specify ',' with '{}'", form);
  const std::string prefix = spec.alternate && form != 'd' ? std::string("0") + form : "";
  format_number(out, spec, value < 0, prefix, format_magnitude(magnitude(value), form), form == 'd' ? 3 : 4);
}

void format_value(TextBuilder& out, const std::string& text, const Value& value) {
  int64_t whole = 0;
  const bool plain = value.boolean() && text.empty();
  if (value.text()) return format_text(out, parse_spec(text), value.text()->bytes);
  if (value.real()) return format_real_value(out, parse_spec(text), *value.real());
  if (value.whole(whole) && !plain) return format_integer(out, parse_spec(text), whole);
  if (!text.empty()) refuse("unsupported format string passed to {}.__format__", value.type());
  append_str(out, value);
}

class Braces {
 public:
  Braces(Interpreter& interpreter, const Arguments& arguments)
      : interpreter_(interpreter), arguments_(arguments) {}

  std::string run(std::string_view format, int depth) {
    if (depth == 0) refuse("max string recursion exceeded");
    TextBuilder out(interpreter_.budget());
    for (size_t at = 0; at < format.size();) {
      const char c = format[at];
      const bool doubled = at + 1 < format.size() && format[at + 1] == c;
      if (c != '{' && c != '}') {
        const size_t next = std::min(format.find_first_of("{}", at), format.size());
        out.append(format.substr(at, next - at));
        at = next;
      } else if (doubled) {
        out.append(format.substr(at, 1));
        at += 2;
      } else if (c == '}') {
        refuse("single '}}' encountered in format string");
      } else {
        at = field(out, format, at + 1, depth);
      }
    }
    return out.take();
  }

 private:
  /// Formats the field after '{', and returns the place after its '}'.
  size_t field(TextBuilder& out, std::string_view format, size_t begin, int depth) {
    size_t end = begin;
    for (int open = 1;; ++end) {
      if (end == format.size()) refuse("expected '}}' before end of string");
      open += format[end] == '{' ? 1 : format[end] == '}' ? -1 : 0;
      if (open == 0) break;
    }
    const std::string_view inside = format.substr(begin, end - begin);
    size_t name_end = 0;
    bool bracket = false;
    while (name_end < inside.size() && (bracket || (inside[name_end] != ':' && inside[name_end] != '!'))) {
      if (inside[name_end] == '{' || (inside[name_end] == '}' && !bracket))
        refuse("unexpected '{{' in field name");
      bracket = inside[name_end] == '[' || (bracket && inside[name_end] != ']');
      ++name_end;
    }
    Value value = find(inside.substr(0, name_end));
    size_t at = name_end;
    if (at < inside.size() && inside[at] == '!') {
      if (at + 1 >= inside.size()) refuse("end of string while looking for conversion specifier");
      value = converted(value, inside[at + 1]);
      at += 2;
      if (at < inside.size() && inside[at] != ':') refuse("expected ':' after conversion specifier");
    }
    const std::string spec = at < inside.size() ? run(inside.substr(at + 1), depth - 1) : "";
    format_value(out, spec, value);
    return end + 1;
  }

  Value converted(const Value& value, char conversion) {
    Budget& budget = interpreter_.budget();
    if (conversion == 's') return make_text(budget, str(budget, value));
    if (conversion == 'r') return make_text(budget, repr(budget, value));
    if (conversion == 'a') unsupported("the conversion !a is not supported");
    refuse("unknown conversion specifier '{}'", std::string_view(&conversion, 1));
  }

  static bool digits(std::string_view text) {
    return !text.empty() && text.size() < 10 &&
           std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  }

  /// The argument that a field's name begins with. `whole`: the name has no attributes or elements, and only
  /// such names count for the rule that numbers are either automatic or given.
  Value argument(std::string_view name, bool whole) {
    const bool automatic = whole && name.empty();
    if (automatic || (whole && digits(name))) {
      const auto mode = automatic ? Numbering::automatic : Numbering::given;
      const bool begun = numbering_ == Numbering::given || next_ > 0;
      if (begun && numbering_ != mode) refuse("cannot switch between automatic and manual field numbering");
      numbering_ = mode;
    }
    if (automatic || digits(name)) {
      const size_t i = automatic ? next_++ : std::stoul(std::string(name));
      if (i >= arguments_.positional.size()) refuse("replacement index {} out of range", i);
      return arguments_.positional[i];
    }
    const auto found =
        std::ranges::find(arguments_.named, name, [](const auto& a) { return std::string_view(a.first); });
    if (found == arguments_.named.end()) refuse("KeyError: '{}'", name);
    return found->second;
  }

  /// The value of a field's name, with its attributes and elements.
  Value find(std::string_view name) {
    size_t at = std::min(name.find_first_of(".["), name.size());
    Value value = argument(name.substr(0, at), at == name.size());
    while (at < name.size()) {
      const bool element = name[at] == '[';
      if (!element && name[at] != '.') refuse("only '.' or '[' may follow ']' in format field specifier");
      const size_t end =
          element ? name.find(']', at) : std::min(name.find_first_of(".[", at + 1), name.size());
      if (end == std::string_view::npos) refuse("missing ']' in format string");
      const std::string_view part = name.substr(at + 1, end - at - 1);
      if (part.empty()) refuse("empty attribute in format string");
      value = !element ? interpreter_.attribute(value, part) : interpreter_.item(value, key(part));
      at = end + element;
    }
    return value;
  }

  Value key(std::string_view part) {
    if (digits(part)) return Value(static_cast<int64_t>(std::stoll(std::string(part))));
    return make_text(interpreter_.budget(), std::string(part));
  }

  Interpreter& interpreter_;
  const Arguments& arguments_;
  size_t next_ = 0;
  enum class Numbering { none, automatic, given } numbering_ = Numbering::none;
};

/// Removes zeros after the point, and the point before nothing, of the mantissa.
std::string without_zeros(std::string digits) {
  const size_t e = std::min(digits.find('e'), digits.size());
  if (digits.find('.') == std::string::npos) return digits;
  size_t end = e;
  while (digits[end - 1] == '0') --end;
  if (digits[end - 1] == '.') --end;
  return digits.erase(end, e - end);
}

std::string plain_real(double value, std::chars_format form, int precision) {
  char place[1500];
  return {place, std::to_chars(place, place + sizeof place, value, form, precision).ptr};
}

/// Adds a point to a mantissa that has none.
std::string with_point(std::string digits) {
  const size_t e = std::min(digits.find('e'), digits.size());
  if (digits.find('.') == std::string::npos) digits.insert(e, ".");
  return digits;
}

std::string shorter(double value, int precision, bool alternate) {
  precision = std::max(precision, 1);
  const std::string scientific = plain_real(value, std::chars_format::scientific, precision - 1);
  const int exponent = value == 0 ? 0 : std::stoi(scientific.substr(scientific.find('e') + 1));
  const bool fixed = exponent >= -4 && exponent < precision;
  const std::string out =
      fixed ? plain_real(value, std::chars_format::fixed, precision - 1 - exponent) : scientific;
  return alternate ? with_point(out) : without_zeros(out);
}

}  // namespace

std::string format_real(double value, char form, int precision, bool alternate) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (form == 'g') return shorter(value, precision, alternate);
  const std::string out =
      plain_real(value, form == 'f' ? std::chars_format::fixed : std::chars_format::scientific, precision);
  return alternate ? with_point(out) : out;
}

std::string format_magnitude(uint64_t value, char form) {
  char place[70];
  const int base = form == 'd' ? 10 : form == 'o' ? 8 : form == 'b' ? 2 : 16;
  const std::string digits(place, std::to_chars(place, place + sizeof place, value, base).ptr);
  return form == 'X' ? upper_ascii(digits) : digits;
}

Value format_percent(Budget& budget, const Text& format, const Value& argument) {
  if (format.safe) unsupported("the operator % on safe text is not supported: format the text first");
  return make_text(budget, Percent(budget, format, argument).run());
}

Value format_braces(Interpreter& interpreter, const Text& format, const Arguments& arguments) {
  if (format.safe) unsupported("the method format of safe text is not supported: format the text first");
  return make_text(interpreter.budget(), Braces(interpreter, arguments).run(format.bytes, 3));
}

}  // namespace smelt::templates
