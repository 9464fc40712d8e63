#include "runtime/engine/training/spikes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

TEST(SpikeDetector, ComparesWithTheRunningMeans) {
  SpikeDetector spikes(3);
  EXPECT_EQ(spikes.add(100, 50), "") << "the first updates have no mean to compare with";
  for (int i = 1; i < SpikeDetector::kLeastUpdates; ++i) EXPECT_EQ(spikes.add(2, 1), "");
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(spikes.add(2, 1), "");
  EXPECT_HAS(spikes.add(9, 1), "the loss 9 is 4.5 times its running mean of 2");
  EXPECT_HAS(spikes.add(2, 4), "the gradient norm 4 is 4 times its running mean of 1");
  EXPECT_EQ(spikes.add(2, 2.5), "") << "the spikes are no part of the means, and this is none";
  EXPECT_EQ(spikes.add(2, std::nullopt), "");
}

TEST(SpikeDetector, GivesItsLimitAndItsState) {
  SpikeDetector spikes(3), other(3);
  EXPECT_EQ(spikes.largest_norm(), std::numeric_limits<float>::max());
  for (int i = 0; i < 50; ++i) spikes.add(2, 1.5);
  EXPECT_NEAR(spikes.largest_norm(), 4.5, 1e-5);
  other.restore(spikes.state());
  EXPECT_EQ(other.largest_norm(), spikes.largest_norm());
}

TEST(SpikeDetector, WhatIsNotFiniteIsASpike) {
  SpikeDetector spikes;
  EXPECT_EQ(spikes.add(NAN, 1), "the loss is nan");
  EXPECT_EQ(spikes.add(1, INFINITY), "the gradient norm is inf");
}

TEST(SpikeAction, NamesRoundTrip) {
  for (const SpikeAction action : {SpikeAction::ignore, SpikeAction::stop, SpikeAction::skip})
    EXPECT_EQ(parse_spike_action(name(action)), action);
  EXPECT_FALSE(parse_spike_action("jump"));
}

}  // namespace
}  // namespace smelt
