// Filters of texts.
#include <algorithm>

#include "runtime/templates/arguments.h"
#include "runtime/templates/characters.h"
#include "runtime/templates/filter_tables.h"
#include "runtime/templates/formatting.h"
#include "runtime/templates/interpreter.h"
#include "runtime/templates/operators.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::templates {
namespace {

Value call_method(Interpreter& interpreter, const Value& subject, std::string_view name,
                  Arguments arguments = {}) {
  return find_text_method(name)(interpreter, soft_text(interpreter.budget(), subject), arguments);
}

Value upper_filter(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("upper", arguments, {});
  return call_method(interpreter, subject, "upper");
}

Value lower_filter(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("lower", arguments, {});
  return call_method(interpreter, subject, "lower");
}

Value capitalize_filter(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("capitalize", arguments, {});
  return call_method(interpreter, subject, "capitalize");
}

Value trim(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("trim", arguments, {"chars"});
  return call_method(interpreter, subject, "strip", {{p[0] ? *p[0] : Value()}, {}});
}

Value center(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("center", arguments, {"width"});
  return call_method(interpreter, subject, "center", {{p[0] ? *p[0] : Value(int64_t{80})}, {}});
}

Value title_filter(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("title", arguments, {});
  const Value text = soft_text(interpreter.budget(), subject);
  std::u32string out, word;
  const auto flush = [&] {
    if (word.empty()) return;
    out += upper(word.substr(0, 1)) + lower(word.substr(1));
    word.clear();
  };
  for (const char32_t c : decode(text.text()->bytes)) {
    const bool divides = has(c, kSpace) || std::u32string_view(U"-({[<").find(c) != std::u32string_view::npos;
    if (divides) flush();
    (divides ? out : word) += c;
  }
  flush();
  return make_text(interpreter.budget(), encode(out));
}

Value replace(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("replace", arguments, {"old", "new", "count"}, 2);
  Budget& budget = interpreter.budget();
  const int64_t count = p.given(2) ? p.integer(2) : -1;
  return make_text(budget,
                   replaced(budget, str(budget, subject), str(budget, *p[0]), str(budget, *p[1]), count));
}

Value string(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("string", arguments, {});
  return soft_text(interpreter.budget(), subject);
}

Value safe(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("safe", arguments, {});
  return make_text(interpreter.budget(), str(interpreter.budget(), subject), true);
}

Value escape(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("escape", arguments, {});
  return escape_html(interpreter.budget(), subject);
}

Value force_escape(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("forceescape", arguments, {});
  Budget& budget = interpreter.budget();
  return escape_html(budget, make_text(budget, str(budget, subject)));
}

Value format(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Budget& budget = interpreter.budget();
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    refuse("format cannot handle positional and keyword arguments at the same time");
  }
  std::vector<std::pair<Value, Value>> named;
  for (auto& [name, value] : arguments.named) named.emplace_back(make_text(budget, name), value);
  const Value all =
      named.empty() ? make_tuple(budget, arguments.positional) : make_dict(budget, std::move(named));
  return format_percent(budget, *soft_text(budget, subject).text(), all);
}

std::vector<Value> lines_of(Interpreter& interpreter, const Value& text) {
  Arguments none;
  return find_text_method("splitlines")(interpreter, text, none).list()->items;
}

Value indent(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("indent", arguments, {"width", "first", "blank"});
  Budget& budget = interpreter.budget();
  require_defined(subject);
  if (!subject.text()) refuse("indent() needs a str, not '{}'", subject.type());
  TextBuilder indention(budget);
  if (p[0] && p[0]->text()) {
    indention.append(p[0]->text()->bytes);
  } else {
    indention.append(" ", std::max<int64_t>(p.integer(0, 4), 0));
  }
  const auto lines = lines_of(interpreter, make_text(budget, subject.text()->bytes + "\n"));
  TextBuilder out(budget);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i].text()->bytes;
    if (i > 0) out.append("\n");
    const bool indented = i == 0 ? p.truth(1) : p.truth(2) || !line.empty();
    if (indented) out.append(indention.text());
    out.append(line);
  }
  return make_text(budget, out.take(), subject.text()->safe);
}

Value truncate(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("truncate", arguments, {"length", "killwords", "end", "leeway"});
  Budget& budget = interpreter.budget();
  const int64_t length = p.integer(0, 255), leeway = p.given(3) ? p.integer(3) : 5;
  const std::string end = p[2] ? p.text(2).bytes : "...";
  const auto end_length = static_cast<int64_t>(count_code_points(end));
  if (length < end_length) refuse("truncate() expected length >= {}, got {}", end_length, length);
  if (leeway < 0) refuse("truncate() expected leeway >= 0, got {}", leeway);
  const int64_t size = length_or_none(budget, subject);
  if (size < 0) refuse("object of type '{}' has no len()", subject.type());
  if (size - leeway <= length) return subject;
  if (!subject.text()) unsupported("the filter truncate is supported for str, not for '{}'", subject.type());
  const Value stop(length - end_length);
  std::string cut = slice(budget, subject, nullptr, &stop, nullptr).text()->bytes;
  const size_t space = p.truth(1) ? std::string::npos : cut.rfind(' ');
  if (space != std::string::npos) cut.resize(space);
  return make_text(budget, cut + end);
}

Value word_count(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("wordcount", arguments, {});
  int64_t words = 0;
  bool inside = false;
  for (const char32_t c : decode(str(interpreter.budget(), subject))) {
    const bool word = c == '_' || has(c, kAlpha | kDecimal | kDigit | kNumeric);
    words += word && !inside;
    inside = word;
  }
  return Value(words);
}

void append_quoted_url(TextBuilder& out, std::string_view text, bool query) {
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || std::string_view("_.-~").find(c) != std::string_view::npos || (c == '/' && !query)) {
      out.append({&c, 1});
    } else {
      out.append(query && c == ' ' ? "+" : fmt::format("%{:02X}", static_cast<unsigned char>(c)));
    }
  }
}

void append_pair(TextBuilder& out, const Value& pair) {
  const auto items = elements(out.budget(), pair);
  if (items.size() != 2) refuse("urlencode() needs pairs, got {} values", items.size());
  if (out.size() > 0) out.append("&");
  append_quoted_url(out, str(out.budget(), items[0]), true);
  out.append("=");
  append_quoted_url(out, str(out.budget(), items[1]), true);
}

Value url_encode(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("urlencode", arguments, {});
  Budget& budget = interpreter.budget();
  TextBuilder out(budget);
  if (subject.text() || !is_iterable(subject)) {
    append_quoted_url(out, str(budget, subject), false);
  } else if (subject.dict()) {
    for (const auto& [key, value] : subject.dict()->items) append_pair(out, make_tuple(budget, {key, value}));
  } else {
    for (const Value& pair : elements(budget, subject)) append_pair(out, pair);
  }
  return make_text(budget, out.take());
}

constexpr Filter kTextFilters[] = {{"capitalize", capitalize_filter},
                                   {"center", center},
                                   {"e", escape},
                                   {"escape", escape},
                                   {"forceescape", force_escape},
                                   {"format", format},
                                   {"indent", indent},
                                   {"lower", lower_filter},
                                   {"replace", replace},
                                   {"safe", safe},
                                   {"string", string},
                                   {"title", title_filter},
                                   {"tojson", to_json},
                                   {"trim", trim},
                                   {"truncate", truncate},
                                   {"upper", upper_filter},
                                   {"urlencode", url_encode},
                                   {"wordcount", word_count}};

}  // namespace

std::span<const Filter> text_filters() { return kTextFilters; }

Value soft_text(Budget& budget, const Value& value) {
  return value.text() ? value : make_text(budget, str(budget, value));
}

}  // namespace smelt::templates
