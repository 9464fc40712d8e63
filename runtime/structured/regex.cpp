#include "runtime/structured/regex.h"

#include <optional>

#include "runtime/structured/text_cursor.h"

namespace smelt::structured {
namespace {

constexpr uint32_t kDeepestExpression = 100;
constexpr uint32_t kMostRegexRepetitions = 100'000;
constexpr std::string_view kSyntax = "^$\\.*+?()[]{}|/-";

CodePointSet class_of(std::vector<CodePointRange> ranges) { return CodePointSet(std::move(ranges)); }
CodePointSet digits() { return class_of({{'0', '9'}}); }
CodePointSet word() { return class_of({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {'_', '_'}}); }
CodePointSet space() {
  return class_of({{'\t', '\r'},
                   {' ', ' '},
                   {0xA0, 0xA0},
                   {0x1680, 0x1680},
                   {0x2000, 0x200A},
                   {0x2028, 0x2029},
                   {0x202F, 0x202F},
                   {0x205F, 0x205F},
                   {0x3000, 0x3000},
                   {0xFEFF, 0xFEFF}});
}
CodePointSet line_ends() { return class_of({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}); }

/// Returns the class of an escape, such as \d; nothing for other letters.
std::optional<CodePointSet> class_of(char letter) {
  const CodePointSet all = CodePointSet::all();
  switch (letter) {
    case 'd':
      return digits();
    case 'D':
      return all - digits();
    case 'w':
      return word();
    case 'W':
      return all - word();
    case 's':
      return space();
    case 'S':
      return all - space();
    default:
      return std::nullopt;
  }
}

std::optional<char32_t> control_of(char letter) {
  switch (letter) {
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 't':
      return U'\t';
    case 'f':
      return U'\f';
    case 'v':
      return U'\v';
    default:
      return std::nullopt;
  }
}

class RegexParser {
 public:
  RegexParser(std::string_view text, Grammar& grammar)
      : cursor_(text, "regular expression"), grammar_(grammar) {}

  NodeId parse() {
    const NodeId node = alternatives(0);
    if (!cursor_.at_end()) cursor_.fail("a ')' without a '('");
    return node;
  }

 private:
  NodeId alternatives(uint32_t depth) {
    if (depth > kDeepestExpression)
      cursor_.fail("groups are nested deeper than {} levels", kDeepestExpression);
    std::vector<NodeId> parts{sequence(depth)};
    while (cursor_.take("|")) parts.push_back(sequence(depth));
    return grammar_.choice(std::move(parts));
  }

  NodeId sequence(uint32_t depth) {
    std::vector<NodeId> parts;
    while (!cursor_.at_end() && cursor_.peek() != '|' && cursor_.peek() != ')')
      parts.push_back(quantified(depth));
    return grammar_.sequence(std::move(parts));
  }

  NodeId quantified(uint32_t depth) {
    const bool is_anchor = cursor_.peek() == '^' || cursor_.peek() == '$';
    const NodeId node = atom(depth);
    const auto bounds = quantifier();
    if (!bounds) return node;
    if (is_anchor) cursor_.fail("an anchor has a quantifier, which is not supported");
    if (cursor_.peek() == '+') cursor_.fail("possessive quantifiers are not supported");
    cursor_.take("?");
    if (quantifier()) cursor_.fail("a quantifier after a quantifier; expected a group around the first one");
    return grammar_.repeat(node, bounds->first, bounds->second);
  }

  std::optional<std::pair<uint32_t, uint32_t>> quantifier() {
    using Bounds = std::pair<uint32_t, uint32_t>;
    if (cursor_.take("*")) return Bounds{0, kUnbounded};
    if (cursor_.take("+")) return Bounds{1, kUnbounded};
    if (cursor_.take("?")) return Bounds{0, 1};
    if (!cursor_.take("{")) return std::nullopt;
    const uint32_t least = cursor_.take_number(kMostRegexRepetitions);
    uint32_t most = least;
    if (cursor_.take(","))
      most = cursor_.peek() == '}' ? kUnbounded : cursor_.take_number(kMostRegexRepetitions);
    if (!cursor_.take("}"))
      cursor_.fail("expected '}}' after the number of repetitions, or \\{{ for the character");
    if (most < least) cursor_.fail("the numbers {{{},{}}} are out of order", least, most);
    return Bounds{least, most};
  }

  NodeId atom(uint32_t depth) {
    if (cursor_.take("(")) return group(depth);
    if (cursor_.take("[")) return grammar_.code_points(bracket_class());
    if (cursor_.take(".")) return grammar_.code_points(CodePointSet::all() - line_ends());
    if (cursor_.take("^")) return grammar_.text_start();
    if (cursor_.take("$")) return grammar_.text_end();
    if (cursor_.peek() == '\\') return grammar_.code_points(escape(false));
    if (std::string_view("*+?{").find(cursor_.peek()) != std::string_view::npos)
      cursor_.fail("'{}' has nothing to repeat; expected \\{} for the character", cursor_.peek(),
                   cursor_.peek());
    const char32_t c = cursor_.take_code_point();
    return grammar_.code_points(class_of({{c, c}}));
  }

  NodeId group(uint32_t depth) {
    if (cursor_.take("?")) group_kind();
    const NodeId node = alternatives(depth + 1);
    if (!cursor_.take(")")) cursor_.fail("expected ')' at the end of a group");
    return node;
  }

  void group_kind() {
    if (cursor_.take(":")) return;
    for (const std::string_view look : {"=", "!", "<=", "<!"})
      if (cursor_.starts_with(look)) cursor_.fail("look-around (?{} is not supported", look);
    if (cursor_.starts_with(">")) cursor_.fail("atomic groups (?> are not supported");
    if (cursor_.starts_with("P=")) cursor_.fail("back references are not supported");
    if (!cursor_.take("P<") && !cursor_.take("<"))
      cursor_.fail("flags and conditions '(?{}' are not supported", cursor_.peek());
    while (is_name(cursor_.peek())) cursor_.take_code_point();
    if (!cursor_.take(">")) cursor_.fail("expected '>' after the name of a group");
  }
  static bool is_name(char c) { return word().contains(static_cast<unsigned char>(c)); }

  /// Returns the class of an escape, or the set of its one character.
  CodePointSet escape(bool in_class) {
    cursor_.take("\\");
    if (cursor_.at_end()) cursor_.fail("a \\ at the end");
    const size_t start = cursor_.position();
    const char32_t c = cursor_.take_code_point();
    const char letter = c < 128 ? static_cast<char>(c) : '\0';
    if (const auto named = class_of(letter)) return *named;
    if (const auto control = control_of(letter)) return class_of({{*control, *control}});
    if (letter == 'x') return one(cursor_.take_hex(2));
    if (letter == 'u') return one(unicode_escape());
    if (letter == 'b' && in_class) return one('\b');
    if (letter == '0' && !TextCursor::is_digit(cursor_.peek())) return one(0);
    if (kSyntax.find(letter) != std::string_view::npos || is_plain(c)) return one(c);
    cursor_.set_position(start);
    refuse(letter);
  }

  /// Both dialects accept a \ before punctuation.
  static bool is_plain(char32_t c) { return c >= ' ' && c < 128 && !word().contains(c); }
  CodePointSet one(char32_t c) const {
    if (CodePointSet set = class_of({{c, c}}); !set.empty()) return set;
    cursor_.fail("a surrogate is not a character");
  }

  [[noreturn]] void refuse(char letter) const {
    if (TextCursor::is_digit(letter) || letter == 'k') cursor_.fail("back references are not supported");
    if (letter == 'b' || letter == 'B') cursor_.fail("word boundaries \\{} are not supported", letter);
    if (letter == 'p' || letter == 'P') cursor_.fail("properties \\{} are not supported", letter);
    cursor_.fail("the escape \\{} is not supported", letter ? letter : '?');
  }

  char32_t unicode_escape() {
    if (cursor_.peek() == '{') cursor_.fail("\\u{{ is not supported; expected four hexadecimal digits");
    const char32_t high = cursor_.take_hex(4);
    if (high < 0xD800 || high > 0xDBFF || !cursor_.take("\\u")) return high;
    const char32_t low = cursor_.take_hex(4);
    if (low < 0xDC00 || low > 0xDFFF) cursor_.fail("expected the second half of a surrogate pair");
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
  }

  CodePointSet bracket_class() {
    const bool is_negated = cursor_.take("^");
    if (cursor_.peek() == ']')
      cursor_.fail("an empty class, or an unescaped ']' at its start, is not supported");
    CodePointSet set;
    while (!cursor_.take("]")) set = set | class_item();
    return is_negated ? CodePointSet::all() - set : set;
  }

  CodePointSet class_item() {
    CodePointSet first = class_atom();
    if (cursor_.peek() != '-' || cursor_.peek(1) == ']') return first;
    cursor_.take("-");
    const CodePointSet last = class_atom();
    if (!is_one(first) || !is_one(last))
      cursor_.fail("a range of a class must have one character at each end");
    const CodePointRange range{first.ranges()[0].first, last.ranges()[0].first};
    if (range.first > range.last) cursor_.fail("a range of a class is out of order");
    return class_of({range});
  }
  static bool is_one(const CodePointSet& set) {
    return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
  }

  CodePointSet class_atom() {
    if (cursor_.at_end()) cursor_.fail("expected ']' at the end of a class");
    if (cursor_.starts_with("[:")) cursor_.fail("named classes [: are not supported");
    if (cursor_.peek() == '\\') return escape(true);
    const char32_t c = cursor_.take_code_point();
    return class_of({{c, c}});
  }

  TextCursor cursor_;
  Grammar& grammar_;
};

/// An alternative of an expression, without the anchor at one of its ends.
struct Alternative {
  bool is_anchored;
  NodeId node;
};

constexpr size_t kMostAnchorSteps = 100'000, kDeepestAnchor = 200;

/// Removal of the anchors at one end of an expression. With `at_start`, this is ^, else $.
class AnchorRemoval {
 public:
  AnchorRemoval(Grammar& grammar, bool at_start) : grammar_(grammar), at_start_(at_start) {}

  std::vector<Alternative> alternatives(NodeId id) {
    const Node node = grammar_.node(id);
    if (++steps_ > kMostAnchorSteps || depth_ > kDeepestAnchor)
      fail("regular expression: too many anchors; expected one at each end");
    ++depth_;
    std::vector<Alternative> all = of(id, node);
    --depth_;
    return all;
  }

 private:
  std::vector<Alternative> of(NodeId id, const Node& node) {
    if (node.kind == (at_start_ ? NodeKind::text_start : NodeKind::text_end))
      return {{true, grammar_.empty()}};
    if (node.kind == NodeKind::choice) return of_choice(node);
    if (node.kind == NodeKind::sequence) return of_sequence(node);
    return {{false, id}};
  }

  std::vector<Alternative> of_choice(const Node& node) {
    std::vector<Alternative> all;
    std::vector<NodeId> plain;
    for (const NodeId part : node.parts)
      for (const Alternative& a : alternatives(part))
        a.is_anchored ? all.push_back(a) : plain.push_back(a.node);
    if (!plain.empty()) all.push_back({false, grammar_.choice(std::move(plain))});
    return all;
  }

  /// An anchor twice, as in ^(^a), is one.
  std::vector<Alternative> of_sequence(const Node& node) {
    std::vector<NodeId> rest = node.parts;
    const size_t end = at_start_ ? 0 : rest.size() - 1;
    const std::vector<Alternative> firsts = alternatives(rest[end]);
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<Alternative> all;
    for (const Alternative& first : firsts) {
      std::vector<NodeId> parts = rest;
      if (first.node == grammar_.empty() && first.is_anchored) {
        for (const Alternative& second : alternatives(grammar_.sequence(parts)))
          all.push_back({true, second.node});
        continue;
      }
      parts.insert(at_start_ ? parts.begin() : parts.end(), first.node);
      all.push_back({first.is_anchored, grammar_.sequence(std::move(parts))});
    }
    return all;
  }

  Grammar& grammar_;
  bool at_start_;
  size_t steps_ = 0, depth_ = 0;
};

template <typename F>
NodeId without_anchors(NodeId expression, Grammar& grammar, F joined) {
  std::vector<NodeId> all;
  for (const Alternative& start : AnchorRemoval(grammar, true).alternatives(expression))
    for (const Alternative& end : AnchorRemoval(grammar, false).alternatives(start.node))
      all.push_back(joined(start.is_anchored, end.node, end.is_anchored));
  return grammar.choice(std::move(all));
}

}  // namespace

NodeId parse_regex(std::string_view expression, Grammar& grammar) {
  return RegexParser(expression, grammar).parse();
}

NodeId whole_match(NodeId expression, Grammar& grammar) {
  return without_anchors(expression, grammar, [](bool, NodeId node, bool) { return node; });
}

NodeId match_anywhere(NodeId expression, Grammar& grammar) {
  const NodeId any = grammar.repeat(grammar.code_points(CodePointSet::all()), 0, kUnbounded);
  return without_anchors(expression, grammar, [&](bool starts, NodeId node, bool ends) {
    return grammar.sequence({starts ? grammar.empty() : any, node, ends ? grammar.empty() : any});
  });
}

Grammar regex_grammar(std::string_view expression) {
  Grammar grammar;
  const RuleId root = grammar.add_rule("root");
  grammar.define(root, whole_match(parse_regex(expression, grammar), grammar));
  grammar.set_root(root);
  return grammar;
}

}  // namespace smelt::structured
