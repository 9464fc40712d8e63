#include "runtime/engine/training/bleu.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

using Texts = std::vector<std::string>;

/// The results of sacrebleu 2.6.0: Tokenizer13a()(text).split().
TEST(Tokenize13a, SeparatesPunctuation) {
  EXPECT_EQ(tokenize_13a("Hello, world. It's 3.5% (or 1,000)!"),
            (Texts{"Hello", ",", "world", ".", "It's", "3.5", "%", "(", "or", "1,000", ")", "!"}));
  EXPECT_EQ(tokenize_13a("&quot;a&amp;b&quot; 1990-91 x-y <skipped>z"),
            (Texts{"\"", "a", "&", "b", "\"", "1990", "-", "91", "x-y", "z"}));
  EXPECT_EQ(tokenize_13a("été.  fin\u00a0de"), (Texts{"été", ".", "fin", "de"}));
  EXPECT_EQ(tokenize_13a(""), Texts());
}

/// The scores of sacrebleu 2.6.0: corpus_bleu(translations, [references]).score.
TEST(Bleu, HasTheScoresOfSacrebleu) {
  const auto score = [](const std::vector<std::pair<const char*, const char*>>& pairs) {
    Bleu bleu;
    for (const auto& [translation, reference] : pairs) bleu.add(translation, reference);
    return bleu.score();
  };
  EXPECT_NEAR(score({{"The dog bit the man.", "The dog bit the man."},
                     {"It was not unexpected.", "It wasn't surprising."},
                     {"The man bit him first.", "The man had just bitten him."}}),
              45.06750632106114, 1e-9);
  EXPECT_NEAR(score({{"the the the the", "the cat sat on the mat"}}), 11.521590992286539, 1e-9);
  EXPECT_NEAR(score({{"a b c d e f", "a b x d e g"}}), 22.957488466614336, 1e-9);
  EXPECT_EQ(score({{"a b c", "a b c"}}), 0) << "no four tokens";
  EXPECT_EQ(score({{"", "a b c"}}), 0);
}

}  // namespace
}  // namespace smelt
