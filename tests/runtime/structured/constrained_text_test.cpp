#include "runtime/structured/constrained_text.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/structured/gbnf.h"
#include "runtime/structured/regex.h"
#include "tests/runtime/structured/matching.h"

namespace smelt::structured {
namespace {

/// Tokens of tests: the letters and texts below, then one special token, which ends texts.
std::shared_ptr<const ConstraintTokens> tokens_of(std::vector<std::string> texts,
                                                  std::vector<uint32_t> other_at_start = {}) {
  texts.emplace_back();
  return std::make_shared<const ConstraintTokens>(TokenBytes{std::move(texts), std::move(other_at_start)});
}

std::shared_ptr<Constraint> constraint_of(std::string_view expression,
                                          const std::shared_ptr<const ConstraintTokens>& tokens) {
  return std::make_shared<Constraint>(compile(regex_grammar(expression)), tokens);
}

std::vector<int32_t> allowed(ConstrainedText& text) {
  std::vector<uint32_t> bits(text.words() + 1, ~uint32_t{0});
  text.fill(bits);
  EXPECT_EQ(bits.back(), 0u);
  std::vector<int32_t> ids;
  for (size_t id = 0; id < bits.size() * 32; ++id)
    if (bits[id / 32] >> id % 32 & 1) ids.push_back(static_cast<int32_t>(id));
  return ids;
}

using Ids = std::vector<int32_t>;

TEST(ConstrainedText, EndsOnlyWhereTheTextMayEnd) {
  ConstrainedText text(constraint_of("ab?", tokens_of({"a", "b", "ab", "ba"})), {4});
  EXPECT_EQ(allowed(text), (Ids{0, 2}));
  EXPECT_FALSE(text.advance(4) || text.advance(1) || text.advance(3) || text.advance(-1) || text.advance(99));
  ASSERT_TRUE(text.advance(0));
  EXPECT_EQ(allowed(text), (Ids{1, 4}));
  EXPECT_TRUE(text.can_end());
  EXPECT_FALSE(text.must_end());
  ASSERT_TRUE(text.advance(1));
  EXPECT_EQ(allowed(text), Ids{4});
  EXPECT_TRUE(text.must_end());
  EXPECT_FALSE(text.ended());
  ASSERT_TRUE(text.advance(4));
  EXPECT_TRUE(text.ended());
  EXPECT_EQ(allowed(text), Ids{4});
  EXPECT_FALSE(text.advance(4));
}

TEST(ConstrainedText, EndTokensWithBytesOnlyEnd) {
  ConstrainedText text(constraint_of("ab", tokens_of({"a", "b"})), {1, 2, 1});
  ASSERT_TRUE(text.advance(0));
  EXPECT_FALSE(text.can_end());
  EXPECT_EQ(allowed(text), (Ids{1, 2}));  // no other token has the byte b
  EXPECT_TRUE(text.advance(1));
  EXPECT_TRUE(text.ended());
  EXPECT_FALSE(text.can_end());
}

TEST(ConstrainedText, TextsWithoutEndTokensFinish) {
  ConstrainedText text(constraint_of("ab", tokens_of({"a", "b"})), {});
  ASSERT_TRUE(text.advance(0) && text.advance(1));
  EXPECT_TRUE(text.must_end());
  EXPECT_EQ(allowed(text), Ids{});
}

TEST(ConstrainedText, TokensThatChangeAtTheStartAreNotFirst) {
  const auto constraint = constraint_of(" ?a *", tokens_of({" a", "a", " "}, {0, 2}));
  ConstrainedText begins(constraint, {3}, false), follows(constraint, {3});
  EXPECT_EQ(allowed(begins), Ids{1});
  EXPECT_EQ(allowed(follows), (Ids{0, 1, 2}));
  EXPECT_FALSE(begins.advance(0));
  ASSERT_TRUE(begins.advance(1));
  EXPECT_EQ(allowed(begins), (Ids{2, 3}));
  EXPECT_TRUE(follows.advance(0));
}

TEST(ConstrainedText, CopiesAreIndependent) {
  ConstrainedText text(constraint_of("a(bc|d)", tokens_of({"a", "b", "c", "d"})), {4});
  ASSERT_TRUE(text.advance(0));
  ConstrainedText draft = text;
  ASSERT_TRUE(draft.advance(1));
  EXPECT_EQ(allowed(draft), Ids{2});
  EXPECT_EQ(allowed(text), (Ids{1, 3}));
}

TEST(ConstrainedText, ChecksItsArguments) {
  const auto constraint = constraint_of("a", tokens_of(std::vector<std::string>(40, "a")));
  EXPECT_HAS(error_of([&] { ConstrainedText(constraint, {41}); }), "end token 41");
  ConstrainedText text(constraint, {40});
  std::vector<uint32_t> bits(1);
  EXPECT_HAS(error_of([&] { text.fill(bits); }), "expected at least 2");
}

/// Each byte a doubles the number of stacks.
TEST(ConstrainedText, AmbiguousTextsFailAndStayUnchanged) {
  const auto automaton = compile(parse_gbnf("root ::= \"a\" root \"x\" | \"a\" root \"y\" | \"z\""));
  ConstrainedText text(std::make_shared<Constraint>(automaton, tokens_of({"a", "z", "x"})), {3});
  int accepted = 0;
  const auto advance = [&] {
    for (; text.advance(0); ++accepted) continue;
  };
  EXPECT_HAS(error_of(advance), "less ambiguous");
  EXPECT_GT(accepted, 8);
  EXPECT_TRUE(text.advance(1) && text.advance(2));
}

/// Bytes of a model without a tokenizer spell any JSON, in valid UTF-8.
TEST(ConstrainedText, RandomBytesAreJson) {
  const auto tokens = std::make_shared<const ConstraintTokens>(byte_token_bytes(257));
  const auto constraint = std::make_shared<Constraint>(
      schema_automaton(R"({"type":"array","items":{"type":["string","null"],"maxLength":3},"maxItems":5})"),
      tokens);
  std::mt19937 random(11);
  for (int walk = 0; walk < 50; ++walk) {
    ConstrainedText text(constraint, {256});
    std::string bytes;
    while (!text.ended()) {
      const Ids ids = allowed(text);
      ASSERT_FALSE(ids.empty());
      const int32_t id = ids[random() % ids.size()];
      ASSERT_TRUE(text.advance(id));
      bytes += tokens->texts.bytes[static_cast<size_t>(id)];
    }
    const Json value = parse_json(bytes, "walk");
    EXPECT_TRUE(value.is_array() && value.size() <= 5) << bytes;
  }
}

TEST(Constraint, ThreadsShareIt) {
  const auto tokens = std::make_shared<const ConstraintTokens>(byte_token_bytes(257));
  const auto constraint = std::make_shared<Constraint>(compile(json_value_grammar({})), tokens, 20'000);
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string& bytes : texts)
    threads.emplace_back([&] {
      std::mt19937 random(5);
      ConstrainedText text(constraint, {256});
      for (int step = 0; step < 60 && !text.ended(); ++step) {
        const Ids ids = allowed(text);
        const int32_t id = ids[random() % ids.size()];
        text.advance(id);
        bytes += tokens->texts.bytes[static_cast<size_t>(id)];
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& bytes : texts) EXPECT_EQ(bytes, texts[0]);
  EXPECT_GT(constraint->memory(), 0u);
}

}  // namespace
}  // namespace smelt::structured
