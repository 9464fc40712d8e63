#include "runtime/structured/gbnf.h"

#include <map>
#include <string>

#include "runtime/structured/text_cursor.h"

namespace smelt::structured {
namespace {

constexpr uint32_t kDeepestGroup = 100;
constexpr uint32_t kMostRepetitions = 100'000;

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || TextCursor::is_digit(c) || c == '-' || c == '_';
}

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text) : cursor_(text, "grammar") {}

  Grammar parse() {
    skip(true);
    while (!cursor_.at_end()) parse_rule();
    const auto root = rules_.find("root");
    if (root == rules_.end() || !grammar_.rules()[root->second].defined)
      cursor_.fail("the rule 'root' is missing; expected 'root ::= ...'");
    grammar_.set_root(root->second);
    return std::move(grammar_);
  }

 private:
  /// Skips spaces and comments, and ends of lines if `lines`.
  void skip(bool lines) {
    for (;; cursor_.take_code_point()) {
      const char c = cursor_.peek();
      if (c == '#') skip_comment();
      const char next = cursor_.peek();
      if (cursor_.at_end() || !(next == ' ' || next == '\t' || (lines && (next == '\n' || next == '\r'))))
        return;
    }
  }
  void skip_comment() {
    while (!cursor_.at_end() && cursor_.peek() != '\n' && cursor_.peek() != '\r') cursor_.take_code_point();
  }

  std::string name() {
    std::string text;
    while (is_name_byte(cursor_.peek())) text.push_back(static_cast<char>(cursor_.take_code_point()));
    if (text.empty()) cursor_.fail("expected the name of a rule");
    return text;
  }

  RuleId rule_of(const std::string& name) {
    const auto known = rules_.find(name);
    return known != rules_.end() ? known->second : rules_[name] = grammar_.add_rule(name);
  }

  void parse_rule() {
    const std::string rule_name = name();
    skip(true);
    if (!cursor_.take("::=")) cursor_.fail("expected '::=' after the name '{}'", rule_name);
    const RuleId rule = rule_of(rule_name);
    if (grammar_.rules()[rule].defined) cursor_.fail("the rule '{}' is defined twice", rule_name);
    skip(true);
    grammar_.define(rule, alternatives(0));
    skip(true);
  }

  NodeId alternatives(uint32_t depth) {
    if (depth > kDeepestGroup) cursor_.fail("groups are nested deeper than {} levels", kDeepestGroup);
    std::vector<NodeId> parts;
    do {
      skip(true);
      parts.push_back(sequence(depth));
      skip_to_alternative(depth);
    } while (cursor_.take("|"));
    return grammar_.choice(std::move(parts));
  }

  /// An alternative may begin on a new line.
  void skip_to_alternative(uint32_t depth) {
    const size_t before = cursor_.position();
    skip(true);
    if (depth == 0 && cursor_.peek() != '|') cursor_.set_position(before);
  }

  /// Returns whether a rule begins here: a name and '::='.
  bool begins_rule() {
    const size_t before = cursor_.position();
    while (is_name_byte(cursor_.peek())) cursor_.take_code_point();
    bool begins = cursor_.position() > before;
    skip(true);
    begins = begins && cursor_.starts_with("::=");
    cursor_.set_position(before);
    return begins;
  }

  NodeId sequence(uint32_t depth) {
    std::vector<NodeId> parts;
    for (;; skip(true)) {
      const char c = cursor_.peek();
      if (cursor_.at_end() || c == '|' || c == ')' || (is_name_byte(c) && begins_rule())) break;
      parts.push_back(quantified(depth));
    }
    return grammar_.sequence(std::move(parts));
  }

  NodeId quantified(uint32_t depth) {
    NodeId node = atom(depth);
    for (skip(false);; skip(false)) {
      if (cursor_.take("*"))
        node = grammar_.repeat(node, 0, kUnbounded);
      else if (cursor_.take("+"))
        node = grammar_.repeat(node, 1, kUnbounded);
      else if (cursor_.take("?"))
        node = grammar_.repeat(node, 0, 1);
      else if (cursor_.take("{"))
        node = counted(node);
      else
        return node;
    }
  }

  NodeId counted(NodeId node) {
    skip(false);
    const uint32_t least = cursor_.peek() == ',' ? 0 : cursor_.take_number(kMostRepetitions);
    skip(false);
    uint32_t most = least;
    if (cursor_.take(",")) {
      skip(false);
      most = cursor_.peek() == '}' ? kUnbounded : cursor_.take_number(kMostRepetitions);
      skip(false);
    }
    if (!cursor_.take("}")) cursor_.fail("expected '}}' after the number of repetitions");
    if (most < least) cursor_.fail("the numbers {{{},{}}} are out of order", least, most);
    return grammar_.repeat(node, least, most);
  }

  NodeId atom(uint32_t depth) {
    if (cursor_.take("\"")) return string();
    if (cursor_.take("[")) return bracket_class();
    if (cursor_.take(".")) return grammar_.code_points(CodePointSet::all());
    if (cursor_.take("(")) {
      const NodeId node = alternatives(depth + 1);
      skip(true);
      if (!cursor_.take(")")) cursor_.fail("expected ')' at the end of a group");
      return node;
    }
    if (is_name_byte(cursor_.peek())) return grammar_.rule(rule_of(name()));
    cursor_.fail("expected a string, a class, a group or the name of a rule");
  }

  NodeId string() {
    std::string text;
    while (!cursor_.take("\"")) {
      if (cursor_.at_end() || cursor_.peek() == '\n') cursor_.fail("expected '\"' at the end of a string");
      append_utf8(text, character());
    }
    return grammar_.bytes(text);
  }

  char32_t character() {
    if (!cursor_.take("\\")) return cursor_.take_code_point();
    const char32_t c = cursor_.take_code_point();
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'x':
        return scalar(cursor_.take_hex(2));
      case 'u':
        return scalar(cursor_.take_hex(4));
      case 'U':
        return scalar(cursor_.take_hex(8));
      default:
        break;
    }
    if (c >= 128 || std::string_view("\\\"'[]-^/").find(static_cast<char>(c)) == std::string_view::npos)
      cursor_.fail("an unknown escape");
    return c;
  }
  char32_t scalar(char32_t c) const {
    if (CodePointSet(std::vector<CodePointRange>{{c, c}}).empty())
      cursor_.fail("an escape that is not a character");
    return c;
  }

  NodeId bracket_class() {
    const bool is_negated = cursor_.take("^");
    std::vector<CodePointRange> ranges;
    while (!cursor_.take("]")) {
      if (cursor_.at_end() || cursor_.peek() == '\n') cursor_.fail("expected ']' at the end of a class");
      CodePointRange range{};
      range.first = range.last = character();
      if (cursor_.peek() == '-' && cursor_.peek(1) != ']' && cursor_.take("-")) range.last = character();
      if (range.last < range.first) cursor_.fail("a range of a class is out of order");
      ranges.push_back(range);
    }
    const CodePointSet set(std::move(ranges));
    return grammar_.code_points(is_negated ? CodePointSet::all() - set : set);
  }

  TextCursor cursor_;
  Grammar grammar_;
  std::map<std::string, RuleId> rules_;
};

}  // namespace

Grammar parse_gbnf(std::string_view text) { return GbnfParser(text).parse(); }

}  // namespace smelt::structured
