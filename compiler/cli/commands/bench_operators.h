// Operator benchmark: times of graphs in text form, each of which is an operator, next to the memory
// bandwidth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"

namespace smelt::cli {

struct OperatorBench {
  std::vector<std::string> graphs;  // files
  CompileOptions compile;
  int threads = 0, warm_up = 2, steps = 6;  // threads 0: all cores; measurements before and with the clock
  std::optional<int> together;              // runs per measurement; empty: as many as last 20 ms
  bool json = false;                        // prints JSON lines instead of a table
  std::string output;                       // writes <output>.json and <output>.md; empty: none
};

/// Returns whether all of `models` are graphs in text form (.ir or .smelt); false if there are none. Throws
/// Error if there are several models and one of them is not a graph.
bool are_graphs(const std::vector<std::string>& models);

/// Measures every graph with all symbols at their bounds, and prints a table: the time of a run, the time of
/// the backward pass that the compiler derives, the bytes that must be moved, and the bandwidth of a copy on
/// the device. Inputs and outputs are states in the device's memory (passes/graph/layout/store_ports.h). The
/// time of backward is the difference between runs with and without it, so its kernels, and the values that
/// forward stores for them, are those of a training step.
void bench_operators(const OperatorBench& options);

}  // namespace smelt::cli
