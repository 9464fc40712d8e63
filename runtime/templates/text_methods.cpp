// Methods of Python's str.
#include <algorithm>
#include <cstring>

#include "runtime/templates/arguments.h"
#include "runtime/templates/characters.h"
#include "runtime/templates/formatting.h"
#include "runtime/templates/interpreter.h"
#include "runtime/templates/operators.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::templates {
namespace {

using Points = std::u32string;
using PointsView = std::u32string_view;

/// A call of a method: its text, and the results it makes, which are safe if the text is.
struct Method {
  Method(Interpreter& context, const Value& self)
      : interpreter(context), budget(context.budget()), text(*self.text()) {
    budget.spend(1 + text.bytes.size() / 16);
  }
  Points points() const { return decode(text.bytes); }
  Value result(std::string bytes) const { return make_text(budget, std::move(bytes), text.safe); }
  Value result(PointsView points) const { return result(encode(points)); }

  Interpreter& interpreter;
  Budget& budget;
  const Text& text;
};

using Convert = Points (*)(PointsView);

template <Convert convert>
Value converted(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("str", arguments, {});
  const Method m(interpreter, self);
  return m.result(convert(m.points()));
}

// ---- strip

enum Side { kLeft = 1, kRight = 2 };

template <int sides>
Value strip(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("strip", arguments, {"chars"}, 0, kNoKeywords);
  const Method m(interpreter, self);
  const Points chars = p.given(0) ? decode(p.text(0).bytes) : Points();
  const bool spaces = !p.given(0);
  m.budget.spend(chars.size() * m.text.bytes.size() / 256);
  const auto dropped = [&](char32_t c) { return spaces ? has(c, kSpace) : chars.find(c) != Points::npos; };
  const std::string_view bytes = m.text.bytes;
  size_t begin = 0, end = bytes.size();
  if (sides & kLeft) {
    while (begin < end && dropped(code_point_at(bytes, begin).value))
      begin += code_point_at(bytes, begin).bytes;
  }
  if (sides & kRight) {
    while (end > begin && dropped(code_point_before(bytes, end).value))
      end -= code_point_before(bytes, end).bytes;
  }
  return m.result(std::string(bytes.substr(begin, end - begin)));
}

// ---- split

Value pieces(const Method& m, std::vector<std::string_view>& parts, bool reversed) {
  if (reversed) std::ranges::reverse(parts);
  std::vector<Value> out;
  for (const std::string_view part : parts) out.push_back(m.result(std::string(part)));
  return make_list(m.budget, std::move(out));
}

/// Divides at white space, from the left.
std::vector<std::string_view> split_spaces(std::string_view bytes, int64_t most) {
  std::vector<std::string_view> out;
  size_t at = 0;
  const auto space = [&] { return has(code_point_at(bytes, at).value, kSpace); };
  while (true) {
    while (at < bytes.size() && space()) at += code_point_at(bytes, at).bytes;
    if (at == bytes.size()) return out;
    const size_t begin = at;
    if (most-- == 0) {
      out.push_back(bytes.substr(begin));
      return out;
    }
    while (at < bytes.size() && !space()) at += code_point_at(bytes, at).bytes;
    out.push_back(bytes.substr(begin, at - begin));
  }
}

/// Divides at white space, from the right; the last part is first.
std::vector<std::string_view> rsplit_spaces(std::string_view bytes, int64_t most) {
  std::vector<std::string_view> out;
  size_t end = bytes.size();
  const auto space = [&] { return has(code_point_before(bytes, end).value, kSpace); };
  while (true) {
    while (end > 0 && space()) end -= code_point_before(bytes, end).bytes;
    if (end == 0) return out;
    const size_t stop = end;
    if (most-- == 0) {
      out.push_back(bytes.substr(0, stop));
      return out;
    }
    while (end > 0 && !space()) end -= code_point_before(bytes, end).bytes;
    out.push_back(bytes.substr(end, stop - end));
  }
}

std::vector<std::string_view> split_at(std::string_view bytes, std::string_view by, int64_t most) {
  std::vector<std::string_view> out;
  size_t at = 0;
  for (size_t found; most-- != 0 && (found = find_text(bytes, by, at)) != std::string_view::npos;
       at = found + by.size()) {
    out.push_back(bytes.substr(at, found - at));
  }
  out.push_back(bytes.substr(at));
  return out;
}

std::vector<std::string_view> rsplit_at(Budget& budget, std::string_view bytes, std::string_view by,
                                        int64_t most) {
  std::vector<std::string_view> out;
  while (most-- != 0) {
    const size_t found = find_last(budget, bytes, by);
    if (found == std::string_view::npos) break;
    out.push_back(bytes.substr(found + by.size()));
    bytes = bytes.substr(0, found);
  }
  out.push_back(bytes);
  return out;
}

template <bool from_right>
Value split(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("split", arguments, {"sep", "maxsplit"});
  const Method m(interpreter, self);
  const int64_t most = p.integer(1, -1);
  if (p[0] && p[0]->undefined()) require_defined(*p[0]);
  if (!p.given(0)) {
    auto parts = from_right ? rsplit_spaces(m.text.bytes, most) : split_spaces(m.text.bytes, most);
    return pieces(m, parts, from_right);
  }
  const std::string& by = p.text(0).bytes;
  if (by.empty()) refuse("empty separator");
  auto parts = from_right ? rsplit_at(m.budget, m.text.bytes, by, most) : split_at(m.text.bytes, by, most);
  return pieces(m, parts, from_right);
}

Value splitlines(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("splitlines", arguments, {"keepends"});
  const Method m(interpreter, self);
  const bool keep = p.integer(0) != 0;
  const std::string_view bytes = m.text.bytes;
  std::vector<std::string_view> out;
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const auto [c, size] = code_point_at(bytes, at);
    const size_t end = at;
    at += size;
    if (!ends_line(c)) continue;
    if (c == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    out.push_back(bytes.substr(begin, (keep ? at : end) - begin));
    begin = at;
  }
  if (begin < bytes.size()) out.push_back(bytes.substr(begin));
  return pieces(m, out, false);
}

template <bool from_right>
Value partition(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("partition", arguments, {"sep"}, 1, kNoKeywords);
  const Method m(interpreter, self);
  const std::string& by = p.text(0).bytes;
  if (by.empty()) refuse("empty separator");
  const std::string& bytes = m.text.bytes;
  const size_t at = from_right ? find_last(m.budget, bytes, by) : find_text(bytes, by);
  const Value none = m.result(""), all = m.result(bytes);
  if (at == std::string::npos) {
    return make_tuple(m.budget, from_right ? std::vector{none, none, all} : std::vector{all, none, none});
  }
  return make_tuple(m.budget,
                    {m.result(bytes.substr(0, at)), m.result(by), m.result(bytes.substr(at + by.size()))});
}

// ---- Search

/// The bytes [begin, end) that the arguments start and end select, and whether start is inside the text.
struct Window {
  size_t begin = 0, end = 0;
  bool valid = true;
};

size_t byte_of(const Text& text, int64_t point) {
  if (text.ascii()) return static_cast<size_t>(point);
  size_t at = 0;
  while (point-- > 0) at += code_point_at(text.bytes, at).bytes;
  return at;
}

int64_t point_of(const Text& text, size_t byte) {
  return static_cast<int64_t>(count_code_points(std::string_view(text.bytes).substr(0, byte)));
}

int64_t bound(const Value* value, int64_t missing, int64_t length) {
  if (!value || value->none()) return missing;
  int64_t at = require_integer(*value);
  if (at < 0) at = at < -length ? 0 : at + length;
  return at;
}

Window window(const Text& text, const Value* start, const Value* stop) {
  const auto length = static_cast<int64_t>(text.length);
  const int64_t from = bound(start, 0, length), to = std::min(bound(stop, length, length), length);
  if (from > length || from > to) return {0, 0, false};
  return {byte_of(text, from), byte_of(text, to), true};
}

template <bool from_right, bool required>
Value find(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("find", arguments, {"sub", "start", "end"}, 1, kNoKeywords);
  const Method m(interpreter, self);
  const Window w = window(m.text, p[1], p[2]);
  const auto part = std::string_view(m.text.bytes).substr(w.begin, w.end - w.begin);
  const std::string& sub = p.text(0).bytes;
  const size_t at = from_right ? find_last(m.budget, part, sub) : find_text(part, sub);
  if (w.valid && at != std::string_view::npos) return Value(point_of(m.text, w.begin + at));
  if (required) refuse("substring not found");
  return Value(int64_t{-1});
}

Value count_text(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("count", arguments, {"sub", "start", "end"}, 1, kNoKeywords);
  const Method m(interpreter, self);
  const Window w = window(m.text, p[1], p[2]);
  const std::string& sub = p.text(0).bytes;
  if (!w.valid) return Value(int64_t{0});
  const auto part = std::string_view(m.text.bytes).substr(w.begin, w.end - w.begin);
  if (sub.empty()) return Value(static_cast<int64_t>(count_code_points(part)) + 1);
  int64_t n = 0;
  for (size_t at = 0; (at = find_text(part, sub, at)) != std::string_view::npos; at += sub.size()) ++n;
  return Value(n);
}

template <bool at_end>
Value begins(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("startswith", arguments, {"prefix", "start", "end"}, 1, kNoKeywords);
  const Method m(interpreter, self);
  const Window w = window(m.text, p[1], p[2]);
  const auto part = std::string_view(m.text.bytes).substr(w.begin, w.end - w.begin);
  const auto fits = [&](const Value& affix) {
    if (!affix.text()) refuse("startswith and endswith need a str or a tuple of str, not '{}'", affix.type());
    return w.valid && (at_end ? part.ends_with(affix.text()->bytes) : part.starts_with(affix.text()->bytes));
  };
  require_defined(*p[0]);
  if (!p[0]->tuple()) return Value(fits(*p[0]));
  return Value(std::ranges::any_of(p[0]->tuple()->items, fits));
}

template <bool at_end>
Value remove(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("removeprefix", arguments, {"prefix"}, 1, kNoKeywords);
  const Method m(interpreter, self);
  const std::string& affix = p.text(0).bytes;
  const std::string& bytes = m.text.bytes;
  const bool has_it = at_end ? bytes.ends_with(affix) : bytes.starts_with(affix);
  if (!has_it || affix.empty()) return m.result(bytes);
  return m.result(at_end ? bytes.substr(0, bytes.size() - affix.size()) : bytes.substr(affix.size()));
}

// ---- Replacement and joining

/// An argument that becomes part of a safe text is escaped.
std::string part(const Method& m, const Value& value) {
  return m.text.safe ? escape_html(m.budget, value).text()->bytes : value.text()->bytes;
}

Value replace_text(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("replace", arguments, {"old", "new", "count"}, 2, kNoKeywords);
  const Method m(interpreter, self);
  const std::string& from = p.text(0).bytes;
  p.text(1);
  return m.result(replaced(m.budget, m.text.bytes, from, part(m, *p[1]), p.integer(2, -1)));
}

Value join_text(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("join", arguments, {"iterable"}, 1, kNoKeywords);
  const Method m(interpreter, self);
  TextBuilder out(m.budget);
  size_t i = 0;
  for (const Value& item : elements(m.budget, *p[0])) {
    if (!item.text() && !m.text.safe)
      refuse("sequence item {}: expected str instance, {} found", i, item.type());
    if (i++ > 0) out.append(m.text.bytes);
    out.append(m.text.safe ? escape_html(m.budget, item).text()->bytes : item.text()->bytes);
  }
  return m.result(out.take());
}

// ---- Padding

std::string fill_of(const Parameters& p) {
  if (!p[1]) return " ";
  if (p.text(1).length != 1) refuse("the fill character must be exactly one character long");
  return p.text(1).bytes;
}

Value padded(const Method& m, const std::string& fill, int64_t left, int64_t right) {
  TextBuilder out(m.budget);
  out.append(fill, std::max<int64_t>(left, 0));
  out.append(m.text.bytes);
  out.append(fill, std::max<int64_t>(right, 0));
  return m.result(out.take());
}

template <int sides>
Value justify(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("ljust", arguments, {"width", "fillchar"}, 1, kNoKeywords);
  const Method m(interpreter, self);
  const int64_t width = p.integer(0),
                missing = std::max<int64_t>(width - static_cast<int64_t>(m.text.length), 0);
  const std::string fill = fill_of(p);
  if (sides == kLeft) return padded(m, fill, missing, 0);
  if (sides == kRight) return padded(m, fill, 0, missing);
  const int64_t left = missing / 2 + (missing & width & 1);
  return padded(m, fill, left, missing - left);
}

Value zfill(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("zfill", arguments, {"width"}, 1, kNoKeywords);
  const Method m(interpreter, self);
  const int64_t missing = std::max<int64_t>(p.integer(0) - static_cast<int64_t>(m.text.length), 0);
  const std::string& bytes = m.text.bytes;
  const bool sign = missing > 0 && (bytes.starts_with('-') || bytes.starts_with('+'));
  TextBuilder out(m.budget);
  if (sign) out.append(std::string_view(bytes).substr(0, 1));
  out.append("0", missing);
  out.append(std::string_view(bytes).substr(sign));
  return m.result(out.take());
}

Value expandtabs(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("expandtabs", arguments, {"tabsize"});
  const Method m(interpreter, self);
  const int64_t size = p.integer(0, 8);
  TextBuilder out(m.budget);
  int64_t column = 0;
  for (const char32_t c : m.points()) {
    if (c != '\t') {
      out.append(encode({&c, 1}));
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    } else if (size > 0) {
      out.append(" ", size - column % size);
      column += size - column % size;
    }
  }
  return m.result(out.take());
}

// ---- Tests

/// Whether the text is not empty and all code points have one of the properties.
template <int properties, bool empty = false>
Value all_have(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("str", arguments, {});
  const Points points = Method(interpreter, self).points();
  return Value((empty || !points.empty()) &&
               std::ranges::all_of(points, [](char32_t c) { return has(c, properties); }));
}

Value isascii(Interpreter&, const Value& self, Arguments& arguments) {
  Parameters p("isascii", arguments, {});
  return Value(self.text()->ascii());
}

Value isidentifier(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("isidentifier", arguments, {});
  const Points points = Method(interpreter, self).points();
  return Value(!points.empty() && has(points[0], kNameStart) &&
               std::ranges::all_of(points, [](char32_t c) { return has(c, kNamePart); }));
}

Value istitle(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("istitle", arguments, {});
  bool inside = false, any = false;
  for (const char32_t c : Method(interpreter, self).points()) {
    const bool begins = has(c, kUpper | kTitle), continues = has(c, kLower);
    if ((begins && inside) || (continues && !inside)) return Value(false);
    inside = begins || continues;
    any |= inside;
  }
  return Value(any);
}

Value islower(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("islower", arguments, {});
  return Value(is_lower(Method(interpreter, self).text));
}

Value isupper(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("isupper", arguments, {});
  return Value(is_upper(Method(interpreter, self).text));
}

// ---- Others

Value format_text(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Method m(interpreter, self);
  return format_braces(interpreter, m.text, arguments);
}

Value format_map(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Parameters p("format_map", arguments, {"mapping"}, 1, kNoKeywords);
  require_defined(*p[0]);
  if (!p[0]->dict()) refuse("format_map() needs a mapping, not '{}'", p[0]->type());
  Arguments named;
  for (const auto& [key, value] : p[0]->dict()->items) {
    if (key.text()) named.named.emplace_back(key.text()->bytes, value);
  }
  return format_text(interpreter, self, named);
}

Value omitted_method(Interpreter&, const Value&, Arguments&) {
  unsupported("the methods encode, translate and maketrans of str are not supported");
}

constexpr std::pair<std::string_view, Function::Body> kMethods[] = {
    {"capitalize", converted<capitalize>},
    {"casefold", converted<casefold>},
    {"center", justify<kLeft | kRight>},
    {"count", count_text},
    {"encode", omitted_method},
    {"endswith", begins<true>},
    {"expandtabs", expandtabs},
    {"find", find<false, false>},
    {"format", format_text},
    {"format_map", format_map},
    {"index", find<false, true>},
    {"isalnum", all_have<kAlpha | kDecimal | kDigit | kNumeric>},
    {"isalpha", all_have<kAlpha>},
    {"isascii", isascii},
    {"isdecimal", all_have<kDecimal>},
    {"isdigit", all_have<kDigit>},
    {"isidentifier", isidentifier},
    {"islower", islower},
    {"isnumeric", all_have<kNumeric>},
    {"isprintable", all_have<kPrintable, true>},
    {"isspace", all_have<kSpace>},
    {"istitle", istitle},
    {"isupper", isupper},
    {"join", join_text},
    {"ljust", justify<kRight>},
    {"lower", converted<lower>},
    {"lstrip", strip<kLeft>},
    {"maketrans", omitted_method},
    {"partition", partition<false>},
    {"removeprefix", remove<false>},
    {"removesuffix", remove<true>},
    {"replace", replace_text},
    {"rfind", find<true, false>},
    {"rindex", find<true, true>},
    {"rjust", justify<kLeft>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", strip<kRight>},
    {"split", split<false>},
    {"splitlines", splitlines},
    {"startswith", begins<false>},
    {"strip", strip<kLeft | kRight>},
    {"swapcase", converted<swapcase>},
    {"title", converted<title>},
    {"translate", omitted_method},
    {"upper", converted<upper>},
    {"zfill", zfill}};

bool cased(const Text& text, uint16_t wanted, uint16_t other) {
  bool any = false;
  for (const char32_t c : decode(text.bytes)) {
    if (has(c, other | kTitle)) return false;
    any |= has(c, wanted);
  }
  return any;
}

}  // namespace

bool is_lower(const Text& text) { return cased(text, kLower, kUpper); }
bool is_upper(const Text& text) { return cased(text, kUpper, kLower); }

size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (part.empty() || from >= text.size())
    return from <= text.size() && part.empty() ? from : std::string_view::npos;
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found ? static_cast<const char*>(found) - text.data() : std::string_view::npos;
}

size_t find_last(Budget& budget, std::string_view text, std::string_view part) {
  if (part.size() > 32) budget.spend(text.size() / 64 * (part.size() / 32));
  return text.rfind(part);
}

std::string replaced(Budget& budget, std::string_view text, std::string_view from, std::string_view to,
                     int64_t most) {
  TextBuilder out(budget);
  size_t at = 0;
  while (most != 0 && !from.empty()) {
    const size_t found = find_text(text, from, at);
    if (found == std::string_view::npos) break;
    out.append(text.substr(at, found - at));
    out.append(to);
    at = found + from.size();
    --most;
  }
  while (most != 0 && from.empty()) {  // before every code point, and at the end
    out.append(to);
    --most;
    if (at == text.size()) break;
    const uint32_t bytes = code_point_at(text, at).bytes;
    out.append(text.substr(at, bytes));
    at += bytes;
  }
  out.append(text.substr(at));
  return out.take();
}

Function::Body find_text_method(std::string_view name) {
  const auto found = std::ranges::lower_bound(kMethods, name, {}, [](const auto& row) { return row.first; });
  return found != std::end(kMethods) && found->first == name ? found->second : nullptr;
}

}  // namespace smelt::templates
