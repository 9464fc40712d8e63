#include "runtime/engine/serving/best_choices.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

Progress choice_of(const std::vector<float>& log_probabilities) {
  Progress choice;
  for (const float each : log_probabilities) choice.tokens.push_back({.log_probability = each});
  return choice;
}

using Numbers = std::vector<size_t>;

TEST(BestChoices, AreThoseOfTheHighestMeanPerPrompt) {
  const std::vector<Progress> choices = {choice_of({-3}), choice_of({-1, -2}), choice_of({-1.25, -1.25}),
                                         choice_of({-4}), choice_of({-9}),     choice_of({-4})};
  EXPECT_EQ(best_choices(choices, 1, 3), (Numbers{2, 3}));
  EXPECT_EQ(best_choices(choices, 2, 3), (Numbers{2, 1, 3, 5}));
  EXPECT_EQ(best_choices(choices, 2, 6), (Numbers{2, 1}));
  EXPECT_EQ(best_choices(choices, 3, 3), (Numbers{0, 1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace smelt
