#include "runtime/engine/serving/stop_strings.h"

#include <gtest/gtest.h>

#include <random>

namespace smelt {
namespace {

TEST(StopStrings, FindsWhatStandsAcrossPieces) {
  StopStrings stops({"END"});
  EXPECT_EQ(stops.push("a text E"), "a text ");
  EXPECT_EQ(stops.push("N"), "");
  EXPECT_EQ(stops.push("D and more"), "");
  EXPECT_TRUE(stops.found());
  EXPECT_EQ(stops.push("nothing follows"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, WhatOnlyBeginsLikeOneIsShown) {
  StopStrings stops({"END", "\n\n"});
  EXPECT_EQ(stops.push("EN\n"), "EN");
  EXPECT_EQ(stops.push("x E"), "\nx ");
  EXPECT_EQ(stops.finish(), "E");
  EXPECT_FALSE(stops.found());
}

TEST(StopStrings, OneIsShownIfItIsIncluded) {
  StopStrings stops({"END", "ND a"}, true);
  EXPECT_EQ(stops.push("a text EN"), "a text ");
  EXPECT_EQ(stops.push("D and more"), "END");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, NoneShowsAllAtOnce) {
  StopStrings stops({});
  EXPECT_EQ(stops.push("abc"), "abc");
  EXPECT_EQ(stops.finish(), "");
}

/// All at once, and cut anywhere.
TEST(StopStrings, PiecesChangeNothing) {
  std::mt19937 random(1);
  const auto text_of = [&](size_t length) {
    std::string text;
    while (text.size() < length) text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> stops;
    for (size_t i = 0; i < 1 + random() % 3; ++i) stops.push_back(text_of(1 + random() % 5));
    const std::string text = text_of(20);
    const bool includes = random() % 2 == 0;
    StopStrings whole(stops, includes), cut(stops, includes);
    std::string expected = whole.push(text), found;
    for (size_t at = 0; at < text.size();) {
      const size_t length = 1 + random() % 4;
      found += cut.push(std::string_view(text).substr(at, length)), at += length;
    }
    EXPECT_EQ(found + cut.finish(), expected + whole.finish()) << text;
    EXPECT_EQ(cut.found(), whole.found());
  }
}

}  // namespace
}  // namespace smelt
