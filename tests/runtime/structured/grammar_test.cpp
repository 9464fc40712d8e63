#include <gtest/gtest.h>

#include "runtime/structured/gbnf.h"
#include "runtime/structured/regex.h"
#include "runtime/structured/utf8_ranges.h"
#include "runtime/tokenizers/unicode/utf8.h"
#include "tests/runtime/structured/matching.h"

namespace smelt::structured {
namespace {

AutomatonPointer regex(std::string_view expression) { return compile(regex_grammar(expression)); }
AutomatonPointer gbnf(std::string_view text) { return compile(parse_gbnf(text)); }

TEST(CodePointSet, HasNoSurrogatesAndJoinsRanges) {
  const CodePointSet set(std::vector<CodePointRange>{{'c', 'd'}, {'a', 'b'}, {0xD000, 0xE000}});
  EXPECT_EQ(set.ranges().size(), 3u);
  EXPECT_TRUE(set.contains('d') && set.contains(0xD7FF) && set.contains(0xE000));
  EXPECT_FALSE(set.contains(0xD800) || set.contains('e'));
  EXPECT_EQ(CodePointSet::all() - (CodePointSet::all() - set), set);
}

TEST(Utf8Ranges, MatchExactlyTheSet) {
  const CodePointSet set(
      std::vector<CodePointRange>{{0x7E, 0x81}, {0x7F0, 0x1234}, {0xFFF0, 0x10FFF}, {0x10FFFE, 0x10FFFF}});
  const auto sequences = utf8_ranges(set);
  for (char32_t c = 0; c <= kLastCodePoint;
       c = c == 0xD7FF ? 0xE000 : c + 1 + (c > 0x2000 && c < 0xFF00) * 37) {
    std::string text;
    append_utf8(text, c);
    int found = 0;
    for (const ByteRanges& ranges : sequences) {
      bool holds = ranges.size() == text.size();
      for (size_t i = 0; holds && i < text.size(); ++i) {
        const auto byte = static_cast<uint8_t>(text[i]);
        holds = ranges[i].first <= byte && byte <= ranges[i].last;
      }
      found += holds;
    }
    ASSERT_EQ(found, set.contains(c) ? 1 : 0) << static_cast<uint32_t>(c);
  }
}

TEST(Regex, MatchesWholeTexts) {
  const AutomatonPointer a = regex("^(?:a|bc)*?d{2,4}[^x-z\\d]$");
  EXPECT_TRUE(matches(a, "abcaddd\xC3\xA9"));
  EXPECT_FALSE(matches(a, "abcad-"));
  EXPECT_FALSE(matches(a, "ddddd-"));
  EXPECT_FALSE(matches(a, "dd7"));
  EXPECT_FALSE(matches(a, "dd-\n"));
  EXPECT_FALSE(matches(a, "dd\xC3"));
  EXPECT_TRUE(matches(regex("(^a|b$)"), "b"));
  EXPECT_TRUE(matches(regex("[\\]\\-]\\u00e9\\x41(?P<n>z)"),
                      "]\xC3\xA9"
                      "Az"));
}

TEST(Regex, CountsLongRepetitions) {
  const AutomatonPointer a = regex("([ab]{3}c){1000,2000}");
  EXPECT_LT(a->states.size(), 30u);
  std::string text;
  for (int i = 0; i < 2001; ++i) {
    ASSERT_EQ(matches(a, text), i >= 1000) << i;
    text += "abac";
    if (i == 1000) i = 1998, text = std::string();
    if (text.empty())
      for (int j = 0; j < 1999; ++j) text += "bbac";
  }
  EXPECT_FALSE(matches(a, text));
}

TEST(Regex, RefusesByName) {
  const std::pair<const char*, const char*> refused[] = {
      {"a(?=b)", "look-around (?="}, {"(?<!b)a", "look-around (?<!"},
      {"(a)\\1", "back references"}, {"\\bx", "word boundaries"},
      {"\\p{L}", "properties"},      {"(?i)a", "flags"},
      {"a++", "possessive"},         {"(?>a)", "atomic"},
      {"a^b", "anchor inside"},      {"[b-a]", "out of order"},
      {"a{3,2}", "out of order"},    {"(a", "expected ')'"},
      {"a)", "without a '('"},       {"*a", "nothing to repeat"},
      {"[a", "expected ']'"},        {"a{x}", "expected a number"},
      {"a**", "quantifier after"},   {"\xFF", "not UTF-8"},
      {"\\ud800", "surrogate"}};
  for (const auto& [expression, message] : refused)
    EXPECT_HAS(error_of([&] { regex(expression); }), message) << expression;
  EXPECT_HAS(error_of([] { regex(std::string(500, '(')); }), "deeper");
  EXPECT_HAS(error_of([] { regex("((a?){1000}){1000}"); }), "may be empty");
  EXPECT_HAS(
      error_of([] {
        regex("(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)(^|^)a");
      }),
      "too many anchors");
}

TEST(Gbnf, ReadsRules) {
  const AutomatonPointer a = gbnf(
      "# sums\nroot ::= sum \"\\n\"\n"
      "sum ::= term ((\"+\" | \"-\")\n  term)*   # more\n"
      "term ::= [0-9]+ |\n  \"(\" sum \")\"\n  | name{1,2}\nname::=[^0-9()+\\-\\n]");
  EXPECT_TRUE(matches(a, "1+(2-(3))+\xC3\xA9x\n"));
  EXPECT_FALSE(matches(a, "1+(2-(3)\n"));
  EXPECT_FALSE(matches(a, "abc\n"));
}

TEST(Gbnf, RefusesFaults) {
  EXPECT_HAS(error_of([] { gbnf("a ::= \"b\""); }), "'root' is missing");
  EXPECT_HAS(error_of([] { gbnf("root ::= b"); }), "'b' is used, but not defined");
  EXPECT_HAS(error_of([] { gbnf("root ::= \"a\"\nroot ::= \"b\""); }), "defined twice");
  EXPECT_HAS(error_of([] { gbnf("root ::= a* root \"x\" | \"y\"\na ::= \"\" | \"a\""); }), "left-recursive");
  EXPECT_HAS(error_of([] { gbnf("root ::= \"a\" root"); }), "no text satisfies");
  EXPECT_HAS(error_of([] { gbnf("root ::= \"a"); }), "at the end of a string");
}

TEST(Gbnf, RightRecursionNeedsNoStack) {
  const AutomatonPointer a = gbnf("root ::= \"a\" root | \"b\"");
  EXPECT_TRUE(matches(a, std::string(20'000, 'a') + "b"));
}

TEST(Matcher, ForksAndForcedBytes) {
  Matcher first(compile(choice_grammar({"yes, sir", "yes, madam", "no"})));
  EXPECT_EQ(first.forced_bytes(), "");
  Matcher second = first;
  ASSERT_TRUE(first.advance("y"));
  EXPECT_EQ(first.forced_bytes(), "es, ");
  EXPECT_FALSE(first.advance("es, n"));
  EXPECT_EQ(first.forced_bytes(), "es, ");
  ASSERT_TRUE(second.advance("no"));
  EXPECT_TRUE(second.can_end());
  EXPECT_TRUE(second.next_bytes().none());
  EXPECT_FALSE(first.can_end());
}

TEST(Matcher, DeepNestingLeavesAnEnd) {
  const AutomatonPointer a = compile(json_value_grammar({}, true));
  Matcher matcher(a);
  size_t depth = 0;
  while (matcher.advance("[[")) depth += 2;
  if (matcher.advance("[")) ++depth;
  EXPECT_GT(depth, 200u);
  EXPECT_FALSE(matcher.accepts('['));
  EXPECT_TRUE(matcher.advance(std::string(depth, ']')));
  EXPECT_TRUE(matcher.can_end());
}

/// Each byte a doubles the number of stacks.
TEST(Matcher, AmbiguityIsBounded) {
  const AutomatonPointer a = gbnf("root ::= \"a\" root \"x\" | \"a\" root \"y\" | \"z\"");
  EXPECT_HAS(error_of([&] { matches(a, std::string(40, 'a')); }), "less ambiguous");
}

}  // namespace
}  // namespace smelt::structured
