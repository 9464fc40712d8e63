// The filter tojson, as transformers defines it: json.dumps without escapes of HTML and of other scripts.
#include <algorithm>
#include <cmath>

#include "runtime/templates/arguments.h"
#include "runtime/templates/filter_tables.h"
#include "runtime/templates/interpreter.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::templates {
namespace {

struct Style {
  bool ascii = false, sorted = false, indented = false;
  std::string indent, item = ", ", key = ": ";
};

class Writer {
 public:
  Writer(Budget& budget, Style style) : budget_(budget), style_(std::move(style)), out_(budget) {}

  std::string run(const Value& value) {
    write(value, 0);
    return out_.take();
  }

 private:
  void write(const Value& value, int level) {
    Nesting nesting(budget_);
    if (value.text()) return write_text(value.text()->bytes);
    if (value.sequence()) return write_list(*value.sequence(), level);
    if (value.dict()) return write_dict(*value.dict(), level);
    write_scalar(value);
  }

  void write_scalar(const Value& value) {
    if (value.none()) return out_.append("null");
    if (value.boolean()) return out_.append(*value.boolean() ? "true" : "false");
    if (value.integer()) return out_.append(std::to_string(*value.integer()));
    if (value.real()) return out_.append(real(*value.real()));
    refuse("Object of type {} is not JSON serializable", value.type());
  }

  static std::string real(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return real_text(value);
  }

  void line(int level) {
    if (!style_.indented) return;
    out_.append("\n");
    out_.append(style_.indent, level);
  }

  void write_list(const std::vector<Value>& items, int level) {
    if (items.empty()) return out_.append("[]");
    out_.append("[");
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_.append(style_.item);
      line(level + 1);
      write(items[i], level + 1);
    }
    line(level);
    out_.append("]");
  }

  void write_dict(const Dict& dict, int level) {
    if (dict.items.empty()) return out_.append("{}");
    auto items = dict.items;
    if (style_.sorted) {
      std::ranges::stable_sort(items,
                               [&](const auto& a, const auto& b) { return less(budget_, a.first, b.first); });
    }
    out_.append("{");
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_.append(style_.item);
      line(level + 1);
      write_key(items[i].first);
      out_.append(style_.key);
      write(items[i].second, level + 1);
    }
    line(level);
    out_.append("}");
  }

  void write_key(const Value& key) {
    if (key.text()) return write_text(key.text()->bytes);
    if (key.tuple() || key.undefined() || key.object())
      refuse("keys must be str, int, float, bool or None, not {}", key.type());
    out_.append("\"");
    write_scalar(key);
    out_.append("\"");
  }

  void write_text(std::string_view text) {
    out_.append("\"");
    for (size_t at = 0; at < text.size();) {
      const auto [c, bytes] = code_point_at(text, at);
      if (c == '"' || c == '\\' || c < 0x20 || (style_.ascii && c > '~')) {
        write_escape(c);
      } else {
        out_.append(text.substr(at, bytes));
      }
      at += bytes;
    }
    out_.append("\"");
  }

  void write_escape(char32_t c) {
    static constexpr std::string_view kFrom = "\"\\\n\r\t\f\b", kTo = "\"\\nrtfb";
    const size_t i = c < 128 ? kFrom.find(static_cast<char>(c)) : std::string_view::npos;
    if (i != std::string_view::npos) {
      out_.append("\\");
      out_.append(kTo.substr(i, 1));
    } else if (c < 0x10000) {
      out_.append(fmt::format("\\u{:04x}", static_cast<uint32_t>(c)));
    } else {
      const uint32_t rest = static_cast<uint32_t>(c) - 0x10000;
      out_.append(fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF)));
    }
  }

  Budget& budget_;
  Style style_;
  TextBuilder out_;
};

void set_indent(Budget& budget, const Value& indent, Style& style) {
  style.indented = true;
  style.item = ",";
  if (indent.text()) {
    style.indent = indent.text()->bytes;
  } else {
    TextBuilder spaces(budget);
    spaces.append(" ", std::max<int64_t>(require_integer(indent), 0));
    style.indent = spaces.take();
  }
}

void set_separators(Budget& budget, const Value& separators, Style& style) {
  const auto items = elements(budget, separators);
  if (items.size() != 2) refuse("separators of tojson: expected 2 values, got {}", items.size());
  if (!items[0].text() || !items[1].text()) refuse("separators of tojson: expected texts");
  style.item = items[0].text()->bytes;
  style.key = items[1].text()->bytes;
}

}  // namespace

Value to_json(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  Budget& budget = interpreter.budget();
  Style style;
  style.ascii = p.truth(0);
  style.sorted = p.truth(3);
  if (p.given(1)) set_indent(budget, *p[1], style);
  if (p.given(2)) set_separators(budget, *p[2], style);
  return make_text(budget, Writer(budget, std::move(style)).run(subject));
}

}  // namespace smelt::templates
