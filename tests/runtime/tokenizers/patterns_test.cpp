#include <gtest/gtest.h>

#include <random>

#include "runtime/base/error.h"
#include "runtime/tokenizers/patterns/pattern.h"
#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

std::vector<std::string> matches(const Pattern& pattern, std::string_view text) {
  std::vector<std::string> found;
  pattern.each_match(
      text, [&](Span range) { found.emplace_back(text.substr(range.begin, range.end - range.begin)); });
  return found;
}

std::vector<std::string> split(const Pattern& pattern, SplitBehavior behavior, std::string_view text,
                               bool invert = false) {
  PieceList list{AlignedText::of(text), {{{0, static_cast<uint32_t>(text.size())}}}};
  split_pieces(list, pattern, behavior, invert);
  std::vector<std::string> parts;
  for (const Piece& piece : list.pieces) parts.emplace_back(list.view(piece));
  return parts;
}

using Parts = std::vector<std::string>;

#define SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define FIRST R"([^\r\n\p{L}\p{N}]?)"

constexpr const char* kKnown[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    CONTRACTIONS "|" FIRST R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SPACES,
    CONTRACTIONS "|" FIRST R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SPACES,
    FIRST UPPER "*" LOWER "+|" FIRST UPPER "+" LOWER R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES,
    FIRST UPPER "*" LOWER "+" CONTRACTIONS "?|" FIRST UPPER "+" LOWER "*" CONTRACTIONS
                R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES,
};

/// Code points of which every version of Unicode says the same.
TEST(KnownPatterns, FindWhatTheirExpressionsFind) {
  const std::u32string alphabet =
      U"abcSTLdmrevABC'''   \t\n\r\n12½,./!_-éÀñ中文あʰǅ\u0301\u0308\u00A0\u3000ſ";
  std::mt19937 random(7);
  for (const char* expression : kKnown) {
    const auto known = known_pattern(expression), reference = pcre2_pattern(expression);
    ASSERT_TRUE(known) << expression;
    for (int i = 0; i < 4000; ++i) {
      std::string text;
      for (uint32_t n = random() % 24; n > 0; --n) append_utf8(text, alphabet[random() % alphabet.size()]);
      ASSERT_EQ(matches(*known, text), matches(*reference, text)) << expression << "\n" << text;
    }
  }
}

TEST(KnownPatterns, OthersHaveNoScanner) { EXPECT_EQ(known_pattern(R"(\w+)"), nullptr); }

TEST(Pcre2Pattern, NothingIsFoundBetweenMatchesButNotBehindOne) {
  EXPECT_EQ(matches(*pcre2_pattern("x*"), "axxb"), (Parts{"", "xx", ""}));
  EXPECT_EQ(matches(*pcre2_pattern(" {2,}"), "a  b   "), (Parts{"  ", "   "}));
}

TEST(Pcre2Pattern, ABrokenExpressionSaysWhere) {
  try {
    pcre2_pattern("a(b");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("at byte 3"), std::string::npos) << error.what();
  }
}

TEST(Pcre2Pattern, WhatCostsTooMuchIsRefused) {
  EXPECT_THROW(matches(*pcre2_pattern("(a+)+(a+)+(a+)+$"), std::string(60, 'a') + "!"), Error);
}

TEST(SplitPieces, EveryBehavior) {
  const auto dash = literal_pattern("-");
  const std::string_view text = "the-final--countdown";
  EXPECT_EQ(split(*dash, SplitBehavior::removed, text), (Parts{"the", "final", "countdown"}));
  EXPECT_EQ(split(*dash, SplitBehavior::isolated, text), (Parts{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(split(*dash, SplitBehavior::merged_with_previous, text),
            (Parts{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(split(*dash, SplitBehavior::merged_with_next, text), (Parts{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(split(*dash, SplitBehavior::contiguous, text), (Parts{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(split(*dash, SplitBehavior::removed, text, true), (Parts{"-", "-", "-"}));
}

TEST(SimplePatterns, ClassesAndWords) {
  EXPECT_EQ(matches(*class_pattern(kNumeric), "a1½b"), (Parts{"1", "½"}));
  EXPECT_EQ(matches(*words_pattern(), "don't  stop…now"), (Parts{"don", "'", "t", "stop", "…", "now"}));
  EXPECT_EQ(matches(*literal_pattern(""), "é"), (Parts{"", ""}));
}

TEST(Patterns, ClassesOfUnicode16) {
  const std::string han = "\xF0\xB2\x8E\xAF", capital = "\xEA\x9F\x8B",
                    digit = "\xF0\x90\xB5\x80";  // 15 and 16
  EXPECT_EQ(matches(*pcre2_pattern(R"(\p{L}+)"), "a" + han + capital + "!" + digit),
            (Parts{"a" + han + capital}));
  EXPECT_EQ(matches(*pcre2_pattern(R"(\p{Han}|\p{Lu}|\p{Nd})"), "a" + han + capital + "!" + digit),
            (Parts{han, capital, digit}));
  EXPECT_EQ(matches(*pcre2_pattern(R"(\w+)"), digit + " " + han), (Parts{digit, han}));
}

TEST(Patterns, ClassesOfEveryCodePoint) {
  const auto letter = pcre2_pattern(R"(\p{L})"), number = pcre2_pattern(R"(\p{N})"),
             space = pcre2_pattern(R"(\s)");
  for (char32_t c = 1; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(text, c);
    ASSERT_EQ(matches(*letter, text).size() == 1, is(c, kLetter)) << std::hex << static_cast<uint32_t>(c);
    ASSERT_EQ(matches(*number, text).size() == 1, is(c, kNumber)) << std::hex << static_cast<uint32_t>(c);
    ASSERT_EQ(matches(*space, text).size() == 1, is(c, kSpace)) << std::hex << static_cast<uint32_t>(c);
  }
}

TEST(Patterns, WordsAreThoseOfOniguruma) {
  EXPECT_EQ(matches(*pcre2_pattern(R"(\w+)"), "e\xCC\x81t a\xC2\xB2-b"),
            (Parts{"e\xCC\x81t", "a\xC2\xB2", "b"}));
  EXPECT_EQ(matches(*pcre2_pattern(R"([^\w]+|[\w-]+)"), "e\xCC\x81-t, a"), (Parts{"e\xCC\x81-t", ", ", "a"}));
  EXPECT_EQ(matches(*pcre2_pattern(R"([[:punct:]\w]+|[]\w[]+)"), "a.\xC2\xB2 ]b["),
            (Parts{"a.\xC2\xB2", "]b["}));
  EXPECT_EQ(matches(*pcre2_pattern(R"(\\w|\[\w\])"), "\\w[\xC2\xB2]"), (Parts{"\\w", "[\xC2\xB2]"}));
  EXPECT_EQ(matches(*pcre2_pattern(R"(\b.)"), "e\xCC\x81 a"), (Parts{"e", " ", "a"}));
}

}  // namespace
}  // namespace smelt
