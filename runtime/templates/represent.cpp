// Texts of values as Python's str() and repr() write them.
#include <charconv>
#include <cmath>

#include "runtime/templates/characters.h"
#include "runtime/templates/objects.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::templates {
namespace {

void append_escape(TextBuilder& out, char32_t c) {
  const auto code = static_cast<uint32_t>(c);
  if (c == '\n' || c == '\r' || c == '\t') {
    out.append(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
  } else if (code < 0x100) {
    out.append(fmt::format("\\x{:02x}", code));
  } else if (code < 0x10000) {
    out.append(fmt::format("\\u{:04x}", code));
  } else {
    out.append(fmt::format("\\U{:08x}", code));
  }
}

void append_items(TextBuilder& out, const std::vector<Value>& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) out.append(", ");
    append_repr(out, items[i]);
  }
}

void append_dict(TextBuilder& out, const Dict& dict) {
  out.append("{");
  for (size_t i = 0; i < dict.items.size(); ++i) {
    if (i) out.append(", ");
    append_repr(out, dict.items[i].first);
    out.append(": ");
    append_repr(out, dict.items[i].second);
  }
  out.append("}");
}

/// Writes the shortest digits d and the exponent e of d[0].d[1]d[2]... * 10^e in the form of Python.
std::string arranged(const std::string& digits, int exponent) {
  if (exponent < -4 || exponent >= 16) {
    const std::string tail = digits.size() > 1 ? "." + digits.substr(1) : "";
    return fmt::format("{}{}e{}{:02}", digits[0], tail, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return "0." + std::string(-exponent - 1, '0') + digits;
  std::string whole = digits;
  if (whole.size() < static_cast<size_t>(exponent) + 2) whole.resize(exponent + 2, '0');
  return whole.substr(0, exponent + 1) + "." + whole.substr(exponent + 1);
}

}  // namespace

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  char place[40];
  const auto end =
      std::to_chars(place, place + sizeof place, std::abs(value), std::chars_format::scientific).ptr;
  const std::string text(place, end);
  const size_t e = text.find('e');
  std::string digits = text.substr(0, 1);
  if (e > 2) digits += text.substr(2, e - 2);
  return (value < 0 ? "-" : "") + arranged(digits, std::stoi(text.substr(e + 1)));
}

void append_quoted(TextBuilder& out, std::string_view text, bool ascii) {
  const bool single = text.find('\'') == std::string_view::npos || text.find('"') != std::string_view::npos;
  const char quote = single ? '\'' : '"';
  out.append({&quote, 1});
  for (size_t at = 0; at < text.size();) {
    const auto [c, bytes] = code_point_at(text, at);
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out.append("\\");
      out.append(text.substr(at, 1));
    } else if (has(c, kPrintable) && !(ascii && c > 127)) {
      out.append(text.substr(at, bytes));
    } else {
      append_escape(out, c);
    }
    at += bytes;
  }
  out.append({&quote, 1});
}

void append_str(TextBuilder& out, const Value& value) {
  if (value.text()) {
    out.append(value.text()->bytes);
  } else if (!value.undefined()) {
    append_repr(out, value);
  }
}

void append_repr(TextBuilder& out, const Value& value) {
  Nesting nesting(out.budget());
  if (value.none()) {
    out.append("None");
  } else if (value.undefined()) {
    out.append("Undefined");
  } else if (value.boolean()) {
    out.append(*value.boolean() ? "True" : "False");
  } else if (value.integer()) {
    out.append(std::to_string(*value.integer()));
  } else if (value.real()) {
    out.append(real_text(*value.real()));
  } else if (const Text* text = value.text()) {
    if (text->safe) out.append("Markup(");
    append_quoted(out, text->bytes);
    if (text->safe) out.append(")");
  } else if (value.list()) {
    out.append("[");
    append_items(out, value.list()->items);
    out.append("]");
  } else if (value.tuple()) {
    out.append("(");
    append_items(out, value.tuple()->items);
    out.append(value.tuple()->items.size() == 1 ? ",)" : ")");
  } else if (value.dict()) {
    append_dict(out, *value.dict());
  } else {
    value.object()->represent(out);
  }
}

std::string str(Budget& budget, const Value& value) {
  TextBuilder out(budget);
  append_str(out, value);
  return out.take();
}

std::string repr(Budget& budget, const Value& value) {
  TextBuilder out(budget);
  append_repr(out, value);
  return out.take();
}

}  // namespace smelt::templates
