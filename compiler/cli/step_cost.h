// The bytes and operations of one step of a program at the symbols' bounds, and its name in tables.
#pragma once

#include <string>

#include "ir/program.h"

namespace smelt::cli {

struct StepCost {
  int64_t bytes = 0;
  double flops = 0;
  /// A core does about ten operations in the time that it moves one byte from memory.
  bool memory_bound() const { return flops < 10.0 * static_cast<double>(bytes); }
};

StepCost step_cost(const Program& program, const Step& step);
/// "k0_reduce5x2", "gemm 2048x384x128", "sort_index", ...
std::string step_name(const Program& program, const Step& step);
/// The names it came from, shortened to `width`.
std::string step_sources(const Step& step, size_t width);

}  // namespace smelt::cli
