#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/structured/gbnf.h"
#include "runtime/structured/regex.h"
#include "runtime/structured/token_masks.h"
#include "tests/runtime/structured/matching.h"

namespace smelt::structured {
namespace {

/// Returns tokens of characters that JSON texts consist of: all bytes, random texts, and a special token at
/// the end.
std::vector<std::string> random_vocabulary(std::mt19937& random, size_t count) {
  std::vector<std::string> tokens;
  for (int b = 0; b < 256; ++b) tokens.emplace_back(1, static_cast<char>(b));
  const std::string_view pieces[] = {"\"",   "{",    "}",    "[",  "]",  ":", ",", "a", "b",
                                     "1",    "0",    ".",    "-",  "\\", "n", "e", " ", "\xC3\xA9",
                                     "\xE6", "true", "null", "\n", "(",  ")", "+"};
  while (tokens.size() < count) {
    std::string token;
    for (uint32_t n = 1 + random() % 5; n > 0; --n) token += pieces[random() % std::size(pieces)];
    tokens.push_back(token);
  }
  tokens.emplace_back();
  return tokens;
}

std::vector<uint32_t> ids_of(const std::vector<uint64_t>& mask) {
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < mask.size() * 64; ++id)
    if (mask[id / 64] >> id % 64 & 1) ids.push_back(id);
  return ids;
}

/// Compares masks with the slow reference on random walks.
void compare(const AutomatonPointer& automaton, uint32_t seed, size_t cache_bytes = 1u << 22) {
  std::mt19937 random(seed);
  const std::vector<std::string> vocabulary = random_vocabulary(random, 700);
  const auto end = static_cast<uint32_t>(vocabulary.size() - 1);
  TokenMasks masks(automaton, std::make_shared<TokenTrie>(vocabulary), {end}, cache_bytes);
  std::vector<uint64_t> mask(masks.words(), ~uint64_t{0}), expected(masks.words());
  for (int walk = 0; walk < 6; ++walk) {
    Matcher matcher(automaton);
    for (int step = 0; step < 40; ++step) {
      masks.mask(matcher, mask);
      mask_by_tokens(matcher, vocabulary, expected);
      if (matcher.can_end()) expected[end / 64] |= uint64_t{1} << end % 64;
      ASSERT_EQ(mask, expected) << "seed " << seed << ", step " << step;
      std::vector<uint32_t> ids = ids_of(mask);
      std::erase(ids, end);
      if (ids.empty()) break;
      ASSERT_TRUE(matcher.advance(vocabulary[ids[random() % ids.size()]]));
    }
  }
}

TEST(TokenMasks, EqualTheReferenceForJson) {
  compare(compile(json_value_grammar({}, true)), 1);
  compare(compile(json_value_grammar({.most_whitespace = 4})), 2);
  compare(
      schema_automaton(
          R"({"type":"array","items":{"type":["string","integer"],"maxLength":7,"minimum":-3,"maximum":1001},"minItems":2,"maxItems":9})"),
      3);
  compare(
      schema_automaton(
          R"({"type":"object","properties":{"a":{"$ref":"#"},"ab":{"pattern":"^[ab1]{2,6}$"},"b":{"enum":["a",1,null]}},"required":["ab"],
                               "additionalProperties":{"anyOf":[{"type":"string","minLength":3},{"type":"number"},{"type":"array"}]}})"),
      4);
}

TEST(TokenMasks, EqualTheReferenceForExpressionsAndGrammars) {
  compare(compile(regex_grammar("([ab1]{2,5}[^a]?){1,30}\\n|\"(a|ab|b){3,200}")), 5);
  compare(compile(regex_grammar("(a|aa|b1){40,60}[\\w.-]*")), 6);
  compare(compile(parse_gbnf("root ::= sum | list \"!\"\nsum ::= item (\"+\" item)*\nitem ::= [0-9]+ | \"(\" "
                             "sum \")\" | word{2,3}\nword ::= [ab]+ \".\"?\n"
                             "list ::= \"[\" (list | sum)? \"]\" list?\n")),
          7);
}

TEST(TokenMasks, SmallCachesAreEmptied) {
  compare(compile(json_value_grammar({.most_whitespace = 2}, true)), 8, 2000);
}

/// Small caches compute masks again and again, so that covers of other sets than that of JSON are used, too.
TEST(TokenMasks, EqualTheReferenceWithCovers) {
  compare(compile(regex_grammar("[^\\n\"]*\\n")), 10, 2000);
  compare(compile(regex_grammar("[^ab]{3,70}(a|b)")), 11, 2000);
  compare(compile(parse_gbnf("root ::= (\"<\" text \">\")+ \ntext ::= [^>]{0,60}")), 13, 2000);
  compare(schema_automaton(R"({"type":"array","items":{"type":"string","maxLength":30}})"), 14, 2000);
}

TEST(TokenCovers, HaveTheTokensOfASet) {
  const auto trie = std::make_shared<TokenTrie>(
      std::vector<std::string>{"a", "ab", "a\"", "\xC3\xA9", "\xC3", "abc", "", "\xA9", "a\xC3\xA9\n"});
  Repeating set{.ascii = {0, uint64_t{0b1110} << 32},
                .all_others = true};  // a, b, c and all that is not ASCII
  const TokenCover cover = TokenCover::of(*trie, set, 2);
  EXPECT_EQ(ids_of(cover.mask), (std::vector<uint32_t>{0, 1, 3}));
  std::vector<uint32_t> others;
  for (const uint32_t node : cover.nodes)
    for (uint32_t t = trie->nodes[node].first_token; t < trie->nodes[node + 1].first_token; ++t)
      others.push_back(trie->tokens[t]);
  for (const uint32_t token : {2U, 4U, 5U, 7U, 8U}) EXPECT_EQ(std::ranges::count(others, token), 1) << token;
  for (size_t k = 0; k < cover.nodes.size(); ++k) {
    const uint32_t end = trie->nodes[cover.nodes[k]].end;
    ASSERT_GT(cover.skips[k], k);
    EXPECT_TRUE(cover.skips[k] == cover.nodes.size() || cover.nodes[cover.skips[k]] >= end);
    EXPECT_LT(cover.nodes[cover.skips[k] - 1], end);
  }
}

TEST(TokenMasks, EqualTheReferenceNearTheDeepestStack) {
  const AutomatonPointer automaton = compile(json_value_grammar({}, true));
  std::mt19937 random(9);
  std::vector<std::string> vocabulary = random_vocabulary(random, 300);
  vocabulary.emplace_back("[[[[[[[[");
  vocabulary.emplace_back("[{\"\":[{\"\":[");
  TokenMasks masks(automaton, std::make_shared<TokenTrie>(vocabulary), {});
  std::vector<uint64_t> mask(masks.words()), expected(masks.words());
  Matcher matcher(automaton);
  while (matcher.advance("[")) {
    masks.mask(matcher, mask);
    mask_by_tokens(matcher, vocabulary, expected);
    ASSERT_EQ(mask, expected);
    for (int i = 0; i < 50 && matcher.configurations()[0].stack.top->depth < 900; ++i)
      ASSERT_TRUE(matcher.advance("["));
  }
}

TEST(TokenMasks, ChecksItsArguments) {
  const AutomatonPointer automaton = compile(choice_grammar({"a"}));
  const auto trie = std::make_shared<TokenTrie>(std::vector<std::string>{"a", "", "a", "b"});
  EXPECT_HAS(error_of([&] { TokenMasks(automaton, trie, {4}); }), "not in the vocabulary");
  TokenMasks masks(automaton, trie, {1});
  std::vector<uint64_t> mask(2);
  EXPECT_HAS(error_of([&] { masks.mask(Matcher(automaton), mask); }), "expected 1");
  Matcher matcher(automaton);
  masks.mask(matcher, std::span(mask).first(1));
  EXPECT_EQ(mask[0], 0b101u);
  ASSERT_TRUE(matcher.advance("a"));
  masks.mask(matcher, std::span(mask).first(1));
  EXPECT_EQ(mask[0], 0b010u);
}

}  // namespace
}  // namespace smelt::structured
