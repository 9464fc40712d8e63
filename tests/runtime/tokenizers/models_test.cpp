#include "runtime/tokenizers/models/model.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "runtime/base/error.h"

namespace smelt {
namespace {

using Parts = std::vector<std::string>;

Vocabulary vocabulary_of(const Parts& tokens) {
  Vocabulary vocabulary;
  for (size_t id = 0; id < tokens.size(); ++id) vocabulary.add(tokens[id], static_cast<int32_t>(id));
  return vocabulary;
}

std::vector<ModelToken> encode(const TokenModel& model, std::string_view text) {
  std::vector<ModelToken> tokens;
  model.encode(text, tokens);
  return tokens;
}

Parts texts(const TokenModel& model, std::string_view text) {
  Parts parts;
  for (const ModelToken& token : encode(model, text)) parts.emplace_back(model.text_of(token, text));
  return parts;
}

/// Merges that a trainer would make of random text over two letters.
struct RandomBpe {
  Parts tokens{"a", "b"};
  BpeOptions options;

  explicit RandomBpe(uint32_t seed) {
    std::mt19937 random(seed);
    while (tokens.size() < 40) {
      const std::string left = tokens[random() % tokens.size()], right = tokens[random() % tokens.size()];
      if (left.size() + right.size() > 12) continue;
      options.merges.emplace_back(left, right);
      if (std::find(tokens.begin(), tokens.end(), left + right) == tokens.end())
        tokens.push_back(left + right);
    }
  }

  /// By definition: the lowest rank, and of equal ones the leftmost, again and again.
  Parts merged(const std::string& text) const {
    std::map<std::pair<std::string, std::string>, size_t> ranks;
    for (size_t rank = 0; rank < options.merges.size(); ++rank) ranks[options.merges[rank]] = rank;
    Parts parts;
    for (const char c : text) parts.emplace_back(1, c);
    while (true) {
      size_t best = parts.size(), lowest = options.merges.size();
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = ranks.find({parts[i], parts[i + 1]});
        if (found == ranks.end() || found->second >= lowest) continue;
        lowest = found->second;
        best = i;
      }
      if (best == parts.size()) return parts;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
  }
};

std::string random_text(std::mt19937& random, size_t length) {
  std::string text;
  while (text.size() < length) text.push_back(random() % 3 == 0 ? 'b' : 'a');
  return text;
}

TEST(Bpe, MergesTheLowestRankFirst) {
  std::mt19937 random(3);
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const RandomBpe bpe(seed);
    const auto model = bpe_model(vocabulary_of(bpe.tokens), bpe.options);
    for (int i = 0; i < 50; ++i) {
      const std::string text = random_text(random, random() % 60 + 1);
      ASSERT_EQ(texts(*model, text), bpe.merged(text)) << text;
    }
  }
}

/// Long texts take another queue; between letters that never merge, the parts are those of short texts.
TEST(Bpe, LongTextsAreMergedAlike) {
  RandomBpe bpe(11);
  bpe.tokens.push_back("-");
  const auto model = bpe_model(vocabulary_of(bpe.tokens), bpe.options);
  std::mt19937 random(4);
  std::string text;
  Parts expected;
  while (text.size() < 150'000) {
    const std::string part = random_text(random, random() % 200 + 1);
    const Parts parts = texts(*model, part);
    expected.insert(expected.end(), parts.begin(), parts.end());
    expected.push_back("-");
    text += part + "-";
  }
  EXPECT_EQ(texts(*model, text), expected);
}

TEST(Bpe, AMergeMayMakeWayForALowerRank) {
  BpeOptions options;  // "ab" comes last, and "abc" of it first of all
  options.merges = {{"ab", "c"}, {"a", "b"}};
  const auto model = bpe_model(vocabulary_of({"a", "b", "c", "ab", "abc"}), options);
  EXPECT_EQ(texts(*model, "ababc"), (Parts{"ab", "abc"}));
}

TEST(Bpe, IgnoresMergesForWholeTokens) {
  BpeOptions options;
  options.merges = {{"a", "b"}};
  const Parts tokens{"a", "b", "c", "ab", "abc"};
  EXPECT_EQ(texts(*bpe_model(vocabulary_of(tokens), options), "abc"), (Parts{"ab", "c"}));
  options.ignore_merges = true;
  EXPECT_EQ(texts(*bpe_model(vocabulary_of(tokens), options), "abc"), (Parts{"abc"}));
}

TEST(Bpe, WhatIsUnknown) {
  BpeOptions options;
  EXPECT_EQ(texts(*bpe_model(vocabulary_of({"a"}), options), "aéa"), (Parts{"a", "a"}));
  options.unk_token = "?";
  EXPECT_EQ(texts(*bpe_model(vocabulary_of({"a", "?"}), options), "aéüa"), (Parts{"a", "?", "?", "a"}));
  options.fuse_unk = true;
  EXPECT_EQ(texts(*bpe_model(vocabulary_of({"a", "?"}), options), "aéüa"), (Parts{"a", "?", "a"}));
  options.byte_fallback = true;
  const auto bytes = bpe_model(vocabulary_of({"a", "?", "<0xC3>", "<0xA9>"}), options);
  EXPECT_EQ(texts(*bytes, "aéüa"), (Parts{"a", "<0xC3>", "<0xA9>", "?", "a"}));
  options.unk_token = "missing";
  EXPECT_THROW(texts(*bpe_model(vocabulary_of({"a"}), options), "é"), Error);
}

TEST(Bpe, PrefixesAndSuffixes) {
  BpeOptions options;
  options.continuing_subword_prefix = "##";
  options.end_of_word_suffix = "</w>";
  options.merges = {{"a", "##b"}, {"ab", "##c</w>"}};
  const auto model = bpe_model(vocabulary_of({"a", "##b", "##c</w>", "ab", "abc</w>", "c</w>"}), options);
  EXPECT_EQ(texts(*model, "abc"), (Parts{"abc</w>"}));
  EXPECT_EQ(texts(*model, "c"), (Parts{"c</w>"}));
}

TEST(Bpe, AMergeOfNoTokenIsRefused) {
  BpeOptions options;
  options.merges = {{"a", "x"}};
  try {
    bpe_model(vocabulary_of({"a"}), options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("merge 'a x': the vocabulary has no 'x'"), std::string::npos);
  }
}

TEST(Unigram, TheMostProbableDivision) {
  UnigramOptions options;
  options.pieces = {{"<unk>", 0}, {"a", 0},  {"b", 0},   {"c", 0},    {"d", 0},
                    {"cd", 1},    {"ab", 2}, {"abc", 5}, {"abcd", 10}};
  options.unk_id = 0;
  const auto model = unigram_model(options);
  EXPECT_EQ(texts(*model, "abcdacdxx"), (Parts{"abcd", "a", "cd", "xx"}));
  EXPECT_EQ(encode(*model, "xxa")[0].id, 0);
  options.unk_id.reset();
  EXPECT_THROW(texts(*unigram_model(options), "x"), Error);
}

TEST(Unigram, UnknownTextBecomesBytes) {
  UnigramOptions options;
  options.pieces = {{"<unk>", 0}, {"a", -1}, {"<0xC3>", 0}, {"<0xA9>", 0}};
  options.unk_id = 0;
  options.byte_fallback = true;
  EXPECT_EQ(texts(*unigram_model(options), "aé"), (Parts{"a", "<0xC3>", "<0xA9>"}));
}

TEST(WordPiece, TheLongestPartFirst) {
  const auto model = word_piece_model(vocabulary_of({"[UNK]", "un", "##aff", "##able", "##a", "##é"}), {});
  EXPECT_EQ(texts(*model, "unaffable"), (Parts{"un", "##aff", "##able"}));
  EXPECT_EQ(texts(*model, "uné"), (Parts{"un", "##é"}));
  EXPECT_EQ(texts(*model, "unx"), (Parts{"[UNK]"}));
  EXPECT_EQ(texts(*model, "un" + std::string(99, 'a')), (Parts{"[UNK]"}));  // 101 characters
  EXPECT_EQ(texts(*model, "un" + std::string(98, 'a')).size(), 99u);
}

TEST(WordLevel, WholePieces) {
  const auto model = word_level_model(vocabulary_of({"?", "word"}), "?");
  EXPECT_EQ(texts(*model, "word"), (Parts{"word"}));
  EXPECT_EQ(texts(*model, "other"), (Parts{"?"}));
}

}  // namespace
}  // namespace smelt
