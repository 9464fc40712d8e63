// Graphs that return what they change in place, at sizes where parts are empty (tests/support/edge_graphs.h),
// compiled for the CPU, against the evaluator. tests/fuzz/graph_differences.cpp runs as many as one wants.
#include "tests/support/edge_graphs.h"

namespace smelt {
namespace {

/// Seeds from 25 times the parameter on.
class EdgeGraphs : public ::testing::TestWithParam<uint64_t> {};

TEST_P(EdgeGraphs, AreWhatTheEvaluatorComputes) {
  for (uint64_t seed = GetParam() * 25; seed < GetParam() * 25 + 25; ++seed) {
    const testing::EdgeCase made = testing::edge_case(seed);
    EXPECT_EQ(testing::fault_of(*made.module, made.run, made.options), "") << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EdgeGraphs, ::testing::Range<uint64_t>(0, 12));

}  // namespace
}  // namespace smelt
