#include "runtime/structured/json_grammar.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/structured/regex.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::structured {
namespace {

CodePointSet set_of(std::vector<CodePointRange> ranges) { return CodePointSet(std::move(ranges)); }
CodePointSet controls() { return set_of({{0, 0x1F}}); }
CodePointSet must_escape() { return set_of({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}); }

struct ShortEscape {
  char32_t character;
  char letter;
};
constexpr ShortEscape kShortEscapes[] = {{'"', '"'},  {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'},
                                         {'\n', 'n'}, {'\r', 'r'},  {'\t', 't'}};

/// Returns the last hexadecimal digit of the control characters of the set that begin with `high`.
CodePointSet low_digits(const CodePointSet& set, char32_t high) {
  std::string digits;
  for (char32_t low = 0; low < 16; ++low)
    if (set.contains(high * 16 + low))
      digits += fmt::format("{:x}{:X}", static_cast<int>(low), static_cast<int>(low));
  return CodePointSet::of(digits);
}

}  // namespace

/// The rule is known before its body is built, so bodies can be recursive.
NodeId JsonGrammar::named(const char* name, const std::function<NodeId()>& body) {
  const auto known = rules_.find(name);
  if (known != rules_.end()) return grammar_.rule(known->second);
  const RuleId rule = rules_[name] = grammar_.add_rule(name);
  grammar_.define(rule, body());
  return grammar_.rule(rule);
}

NodeId JsonGrammar::space() {
  if (layout_.most_whitespace == 0) return grammar_.empty();
  return named("white space", [&] {
    return grammar_.repeat(grammar_.code_points(CodePointSet::of(" \n\r\t")), 0, layout_.most_whitespace);
  });
}

NodeId JsonGrammar::value() {
  return named("value", [&] {
    return grammar_.choice({object(), array(), string(), number(), grammar_.bytes("true"),
                            grammar_.bytes("false"), grammar_.bytes("null")});
  });
}

/// Elements with commas between brackets.
NodeId JsonGrammar::bracketed(const char* open, NodeId element, const char* close) {
  const NodeId more = grammar_.repeat(grammar_.sequence({comma(), element}), 0, kUnbounded);
  return grammar_.sequence({grammar_.bytes(open), space(),
                            grammar_.optional(grammar_.sequence({element, more, space()})),
                            grammar_.bytes(close)});
}

NodeId JsonGrammar::object() {
  return named("object",
               [&] { return bracketed("{", grammar_.sequence({string(), colon(), value()}), "}"); });
}

NodeId JsonGrammar::array() {
  return named("array", [&] { return bracketed("[", value(), "]"); });
}

NodeId JsonGrammar::string() {
  return named("string", [&] { return string_of_length(0, kUnbounded); });
}

NodeId JsonGrammar::integer() {
  return named("integer", [&] { return whole_match(parse_regex("-?(0|[1-9][0-9]*)", grammar_), grammar_); });
}

NodeId JsonGrammar::number() {
  return named("number", [&] {
    return whole_match(parse_regex("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?", grammar_), grammar_);
  });
}

/// Escapes of \u are of scalar values: a surrogate comes with its other half, and the pair counts as one
/// character.
NodeId JsonGrammar::character() {
  const NodeId escapes = parse_regex(
      "\\\\([\"\\\\/bfnrt]|u([0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}"
      "|[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}))",
      grammar_);
  return grammar_.choice({grammar_.code_points(CodePointSet::all() - must_escape()), escapes});
}

NodeId JsonGrammar::string_of_length(uint32_t least, uint32_t most) {
  return grammar_.sequence(
      {grammar_.bytes("\""), grammar_.repeat(character(), least, most), grammar_.bytes("\"")});
}

/// Returns the node of one character of the set: raw, \" and the like, or \u00XX. Parts that many sets share
/// are nodes of their own.
NodeId JsonGrammar::spelled(const CodePointSet& set) {
  const auto known = spelled_.find(set);
  if (known != spelled_.end()) return known->second;
  const CodePointSet raw = set - must_escape(), ascii = set_of({{0, 127}});
  std::string letters;
  CodePointSet rest = set & controls();
  for (const ShortEscape& escape : kShortEscapes)
    if (set.contains(escape.character)) {
      letters.push_back(escape.letter);
      rest = rest - set_of({{escape.character, escape.character}});
    }
  std::vector<NodeId> numbers;
  for (const char32_t high : {0, 1})
    numbers.push_back(grammar_.sequence(
        {grammar_.bytes(high ? "u001" : "u000"), grammar_.code_points(low_digits(rest, high))}));
  numbers.push_back(grammar_.code_points(CodePointSet::of(letters)));
  const NodeId escaped = grammar_.sequence({grammar_.bytes("\\"), grammar_.choice(std::move(numbers))});
  return spelled_[set] =
             grammar_.choice({grammar_.code_points(raw & ascii), grammar_.code_points(raw - ascii), escaped});
}

NodeId JsonGrammar::string_in(const Language& language) {
  const NodeId text = language.node(grammar_, [&](const CodePointSet& set) { return spelled(set); });
  return grammar_.sequence({grammar_.bytes("\""), text, grammar_.bytes("\"")});
}

NodeId JsonGrammar::literal_string(std::string_view text) {
  std::vector<NodeId> parts;
  std::string raw = "\"";
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (must_escape().contains(c.value)) {
      parts.push_back(grammar_.bytes(std::exchange(raw, "")));
      parts.push_back(spelled(set_of({{c.value, c.value}})));
    } else {
      append_utf8(raw, c.value);
    }
    at += c.bytes;
  }
  parts.push_back(grammar_.bytes(raw + "\""));
  return grammar_.sequence(std::move(parts));
}

}  // namespace smelt::structured
