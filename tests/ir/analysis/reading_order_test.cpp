// One order for all bodies that are alike, wherever their nodes stand.
#include "ir/analysis/reading_order.h"

#include <gtest/gtest.h>

#include "ir/text/text.h"

namespace smelt {
namespace {

std::string words_in_order(std::string_view nodes) {
  const auto module =
      parse_module("symbols N <= 8\ngraph @g(%x: f32[N], %y: f32[N]) {\n" + std::string(nodes) + "\n}");
  std::string words;
  for (const Node* node : reading_order(*module->graphs[0])) words += std::string(node->mnemonic()) + " ";
  return words;
}

TEST(ReadingOrder, IsThatOfTheOutputsAndOperands) {
  const std::string wanted = "input input exp log sub abs ";
  EXPECT_EQ(words_in_order(R"(%a = exp %x
    %b = log %y
    %c = sub %a, %b
    %d = abs %a
    return c = %c, d = %d)"),
            wanted);
  EXPECT_EQ(words_in_order(R"(%b = log %y
    %a = exp %x
    %d = abs %a
    %c = sub %a, %b
    return c = %c, d = %d)"),
            wanted);
}

TEST(ReadingOrder, WhatNoOutputNeedsComesLast) {
  EXPECT_EQ(words_in_order("%a = log %x\n%b = exp %y\nreturn b = %b"), "input input exp log ");
}

TEST(ReadingOrder, AChainMayBeLong) {
  constexpr int kLength = 20000;
  std::string nodes = "%v0 = exp %x\n";
  for (int i = 1; i < kLength; ++i)
    nodes += "%v" + std::to_string(i) + " = exp %v" + std::to_string(i - 1) + "\n";
  const std::string words = words_in_order(nodes + "return v = %v" + std::to_string(kLength - 1));
  EXPECT_EQ(std::ranges::count(words, ' '), kLength + 2);
}

}  // namespace
}  // namespace smelt
