// A choice whose last alternative is for some sizes.
#include <gtest/gtest.h>

#include "runtime/plan/choices.h"

namespace smelt {
namespace {

TEST(ChoiceRule, TheLastRunsWhereItHoldsAndNowhereElse) {
  const Choice choice{{"one", "other", "few"}, SizeRule{Dim::symbol("T") * 2, 9}};
  const SymbolValues few = {{"T", 4}}, many = {{"T", 5}};
  EXPECT_TRUE(may_run(choice, 2, few));
  EXPECT_FALSE(may_run(choice, 2, many));
  for (const int alternative : {0, 1}) {
    EXPECT_FALSE(may_run(choice, alternative, few));
    EXPECT_TRUE(may_run(choice, alternative, many));
  }
  EXPECT_EQ(unmeasured_alternative(choice, few), 2);
  EXPECT_EQ(unmeasured_alternative(choice, many), 0);
}

TEST(ChoiceRule, WithoutOneAllMayRun) {
  const Choice choice{{"one", "other"}, {}};
  EXPECT_TRUE(may_run(choice, 1, {}));
  EXPECT_EQ(unmeasured_alternative(choice, {}), 0);
}

}  // namespace
}  // namespace smelt
