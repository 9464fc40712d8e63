#include "passes/graph/axes/axis_classes.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

using ClassAxes = AxisClasses::Axes;

ClassAxes add_all(AxisClasses& classes, const Shape& shape) {
  ClassAxes axes;
  for (const Dim& extent : shape) axes.push_back(classes.add(extent));
  return axes;
}

const Dim kBatch = Dim::symbol("B"), kLength = Dim::symbol("T");

TEST(AxisClasses, SplitIntoWhatTheOtherSideHas) {
  AxisClasses classes;
  const ClassAxes whole = add_all(classes, {kBatch * kLength, 12}),
                  apart = add_all(classes, {kBatch, kLength, 3, 4});
  ASSERT_TRUE(classes.match(whole, apart));
  EXPECT_EQ(classes.shape(whole), (Shape{kBatch, kLength, 3, 4}));
  EXPECT_EQ(classes.parts(whole), classes.parts(apart));
}

TEST(AxisClasses, BothSidesAreSplit) {
  AxisClasses classes;
  const ClassAxes left = add_all(classes, {4, 6}), right = add_all(classes, {8, 3});
  ASSERT_TRUE(classes.match(left, right));
  EXPECT_EQ(classes.shape(left), (Shape{4, 2, 3}));
  EXPECT_EQ(classes.shape(right), (Shape{4, 2, 3}));
}

TEST(AxisClasses, AxesOfOneElementGoWhereTheOtherSideHasNone) {
  AxisClasses classes;
  const ClassAxes left = add_all(classes, {1, kBatch, 1}), right = add_all(classes, {kBatch, 1});
  ASSERT_TRUE(classes.match(left, right));
  EXPECT_EQ(classes.shape(left), (Shape{kBatch, 1}));
  EXPECT_EQ(classes.shape(right), (Shape{kBatch, 1}));
  ASSERT_TRUE(classes.match(right, {right[0]}));
  EXPECT_EQ(classes.shape(left), Shape{kBatch});
}

TEST(AxisClasses, SplitsHoldForAllThatAreUnited) {
  AxisClasses classes;
  const ClassAxes a = add_all(classes, {12}), b = add_all(classes, {12}), heads = add_all(classes, {3, 4});
  ASSERT_TRUE(classes.match(a, b));
  ASSERT_TRUE(classes.match(b, heads));
  EXPECT_EQ(classes.shape(a), (Shape{3, 4}));
  ASSERT_TRUE(classes.match(a, add_all(classes, {6, 2})));
  EXPECT_EQ(classes.shape(heads), (Shape{3, 2, 2}));
}

TEST(AxisClasses, RefusalsChangeNothing) {
  AxisClasses classes;
  const ClassAxes rows = add_all(classes, {kBatch * kLength, 12}),
                  other = add_all(classes, {kBatch, kLength, 5});
  EXPECT_FALSE(classes.match(rows, other));
  EXPECT_FALSE(classes.is_split(rows[0]));
  EXPECT_FALSE(classes.match(rows, add_all(classes, {0, 12})));
}

TEST(AxisClasses, PinnedAxesStayWhole) {
  AxisClasses classes;
  const ClassAxes a = add_all(classes, {12}), b = add_all(classes, {12});
  classes.pin(b[0]);
  ASSERT_TRUE(classes.match(a, b));
  EXPECT_FALSE(classes.match(a, add_all(classes, {3, 4}))) << "what is united with a pinned axis is pinned";
  const ClassAxes one = add_all(classes, {1});
  classes.pin(one[0]);
  EXPECT_FALSE(classes.match(one, {}));
}

}  // namespace
}  // namespace smelt
