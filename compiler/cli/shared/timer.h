// Time measurement of repeated calls of a function.
#pragma once

#include <functional>
#include <vector>

namespace smelt::cli {

/// Calls `run` `warm_up` times without measurement, then `count` times. Returns the seconds of each of the
/// `count` calls.
std::vector<double> time_runs(int warm_up, int count, const std::function<void()>& run);

/// Returns the number of calls that take about 20 ms together, 1 to 500. Calls `run` once to measure that.
int runs_together(const std::function<void()>& run);

}  // namespace smelt::cli
