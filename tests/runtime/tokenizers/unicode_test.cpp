#include <gtest/gtest.h>

#include <random>

#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/unicode.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

std::string normalized(std::string_view text, NormalForm form) {
  AlignedText aligned = AlignedText::of(text);
  normalize_form(aligned, form);
  return aligned.bytes;
}

TEST(Utf8, RepairsMaximalSubparts) {
  EXPECT_EQ(repair_utf8("a\xFF"
                        "b"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(repair_utf8("\xE4\xB8"), "\uFFFD");  // the beginning of one character
  EXPECT_EQ(repair_utf8("\xE4\xB8z"), "\uFFFDz");
  EXPECT_EQ(repair_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(repair_utf8("\xC0\xAF"), "\uFFFD\uFFFD");            // a long form
  EXPECT_EQ(repair_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_TRUE(valid_utf8_prefix("a\xF0\x9F").incomplete);
  EXPECT_FALSE(valid_utf8_prefix("a\xF0\x41").incomplete);
}

TEST(Utf8, RandomBytesBecomeValid) {
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    for (uint32_t n = random() % 20; n > 0; --n) bytes.push_back(static_cast<char>(random()));
    EXPECT_TRUE(is_utf8(repair_utf8(bytes)));
  }
}

TEST(Utf8, EveryCodePointIsWrittenAndRead) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(text, c);
    ASSERT_EQ(text.size(), utf8_length(c));
    ASSERT_TRUE(is_utf8(text));
    ASSERT_EQ(code_point_at(text, 0).value, c);
    ASSERT_EQ(code_point_before(text, text.size()).value, c);
  }
}

TEST(CharClasses, KnowScriptsAndMarks) {
  EXPECT_TRUE(is(U'é', kLetter) && is(U'中', kLetter) && !is(U'1', kLetter));
  EXPECT_TRUE(is(U'½', kNumber) && is(0x3000, kSpace) && is(0x301, kAccent) && is(U'«', kPunctuation));
  EXPECT_TRUE(is(0xAD, kBertDropped) && is(0xAC00, kDecomposes) && is(0xFB01, kDecomposesCompatibly));
  EXPECT_EQ(classes_of(0x110000), 0);
}

TEST(CharClasses, LowerCase) {
  char32_t place[2];
  EXPECT_EQ(lower_case(U'Ä', place), U"ä");
  EXPECT_EQ(lower_case(U'ß', place), U"ß");
  EXPECT_EQ(lower_case(0x130, place), U"i\u0307");
  EXPECT_EQ(lower_case(0x1E9E, place), U"ß");
  EXPECT_EQ(lower_case(0x10400, place), U"\U00010428");
}

TEST(NormalForms, ComposeAndDecompose) {
  EXPECT_EQ(normalized("e\u0301", NormalForm::nfc), "é");
  EXPECT_EQ(normalized("é", NormalForm::nfd), "e\u0301");
  EXPECT_EQ(normalized("ﬁ①", NormalForm::nfkc), "fi1");
  EXPECT_EQ(normalized("한", NormalForm::nfd), "\u1112\u1161\u11AB");
  EXPECT_EQ(normalized("\u1112\u1161\u11AB", NormalForm::nfc), "한");
  EXPECT_EQ(normalized("a\u0301\u0327", NormalForm::nfd),
            "a\u0327\u0301");  // marks in order of their classes
  EXPECT_EQ(normalized("c\u0301\u0327", NormalForm::nfc), "\u1E09");
  EXPECT_EQ(normalized("㋿", NormalForm::nfkc), "㋿");  // newer than the version of Unicode
}

TEST(NormalForms, KeepTheOriginOfEveryByte) {
  AlignedText text = AlignedText::of("xe\u0301ﬁ");
  normalize_form(text, NormalForm::nfkc);
  ASSERT_EQ(text.bytes, "xéfi");
  EXPECT_EQ(text.source[1], (Span{1, 2}));
  EXPECT_EQ(text.source[3], (Span{4, 7}));
  EXPECT_EQ(text.source[4], (Span{4, 7}));
}

TEST(Graphemes, JoinMarksAndLineEnds) {
  EXPECT_EQ(grapheme_end("e\u0301x", 0), 3u);
  EXPECT_EQ(grapheme_end("\r\nx", 0), 2u);
  EXPECT_EQ(grapheme_end("ab", 0), 1u);
  EXPECT_EQ(grapheme_end("\u2029\u0301", 0), 3u);  // nothing joins a separator of paragraphs
}

}  // namespace
}  // namespace smelt
