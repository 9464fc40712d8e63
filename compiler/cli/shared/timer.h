// A clock for single runs of one function.
#pragma once

#include <functional>
#include <vector>

namespace smelt::cli {

/// Runs it `warm_up` times, then `count` times with a clock: returns the seconds of each of these.
std::vector<double> time_runs(int warm_up, int count, const std::function<void()>& run);

/// Returns the number of runs that take about 20 ms, 1 to 500; runs the function once to measure that.
int runs_together(const std::function<void()>& run);

}  // namespace smelt::cli
