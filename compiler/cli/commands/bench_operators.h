// Operator benchmark: measures graphs in text form, each of which is one operator. Reports the time of each
// graph, and its memory bandwidth in comparison with that of a copy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"

namespace smelt::cli {

/// The graphs to measure, and how.
struct OperatorBench {
  std::vector<std::string> graphs;  // files
  CompileOptions compile;
  int threads = 0, warm_up = 2, steps = 6;  // threads (0: all cores); measurements to discard, and to use
  std::optional<int> together;              // runs per measurement; empty: as many as take 20 ms
  bool json = false;                        // prints JSON lines instead of a table
  std::string output;  // results are also written to <output>.json and <output>.md; empty: to no file
};

/// Returns true if all of `models` are graphs in text form (.ir or .smelt). Returns false if there is no
/// model, or if there is one model and it is not a graph. Throws Error if there are several models and one of
/// them is not a graph.
bool are_graphs(const std::vector<std::string>& models);

/// Measures every graph with all symbols at their bounds, and prints a table: the time of a run, the time of
/// the backward pass that the compiler derives, the bytes that must be moved, and the bandwidth of a copy on
/// the device. Inputs and outputs are buffers that stay in the device's memory (states; see
/// passes/graph/layout/store_ports.h), so that no run copies them. The backward pass does not run alone,
/// because it reads values that the forward pass stores. So its time is the time of forward and backward
/// together, minus the time of forward alone.
void bench_operators(const OperatorBench& options);

}  // namespace smelt::cli
