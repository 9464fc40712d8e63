// Patterns that the lines of steps are printed and parsed by.
#include "runtime/plan/step_pattern.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

/// "<literal>$<field>?<group>"
std::string pieces(std::string_view pattern) {
  std::string all;
  for (const auto& [kind, text] : pattern_pieces(pattern))
    all += fmt::format("{}<{}>",
                       kind == PatternPiece::Kind::literal ? ""
                       : kind == PatternPiece::Kind::field ? "$"
                                                           : "?",
                       text);
  return all;
}

TEST(StepPattern, HasLiteralsFieldsAndGroups) {
  EXPECT_EQ(pieces("$to = $value of $elements{ until $waited_at}"),
            "$<to>< = >$<value>< of >$<elements>?< until $waited_at>");
  EXPECT_EQ(pieces("$dtype$extents{($to_stride)} x"), "$<dtype>$<extents>?<($to_stride)>< x>");
  EXPECT_EQ(pieces(""), "");
}

TEST(StepPattern, BeginsWithAToken) {
  EXPECT_EQ(first_token(" until $waited_at"), "until");
  EXPECT_EQ(first_token(" -> $y"), "->");
  EXPECT_EQ(first_token("($to_stride)"), "(");
  EXPECT_EQ(first_token(" $sum"), "");
  EXPECT_EQ(first_token(""), "");
  EXPECT_EQ(first_field(" until $waited_at"), "waited_at");
}

/// Without a number of a step there is nothing to wait for.
TEST(StepPattern, LeavesOutGroupsOfFieldsThatAreNotGiven) {
  const auto print = [](auto, const auto& field, auto) {
    if constexpr (requires { std::to_string(field); }) return std::to_string(field);
    return std::string("?");
  };
  CopyStep copy;
  EXPECT_EQ(print_pattern("copy $to{ until $waited_at}", copy, print), "copy ?");
  copy.waited_at = 7;
  EXPECT_EQ(print_pattern("copy $to{ until $waited_at}", copy, print), "copy ? until 7");
}

TEST(StepPattern, OfACollectiveHasItsSumAndItsRows) {
  const auto print = [](std::string_view name, const auto&, auto) { return std::string(name); };
  CollectiveStep collective;
  collective.kind = CollectiveKind::all_gather;
  EXPECT_EQ(print_pattern("x{ $sum}{ of $rows}", collective, print), "x");
  collective.kind = CollectiveKind::all_reduce, collective.rows = 2;
  EXPECT_EQ(print_pattern("x{ $sum}{ of $rows}", collective, print), "x sum of rows");
}

}  // namespace
}  // namespace smelt
