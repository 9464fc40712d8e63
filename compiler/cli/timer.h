// Google Benchmark as a clock: the seconds of single runs of one function.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace smelt::cli {

/// Runs it `warm_up` times, then `count` times with a clock. Passes on what it throws.
std::vector<double> time_runs(const std::string& name, int warm_up, int count,
                              const std::function<void()>& run);

}  // namespace smelt::cli
