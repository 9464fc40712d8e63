// Graphs in text form, each an operator, timed against the memory's bandwidth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"

namespace smelt::cli {

struct OperatorBench {
  std::vector<std::string> graphs;  // files
  CompileOptions compile;
  int threads = 0, warm_up = 2, steps = 6;
  std::optional<int> together;  // runs per measurement; empty: as many as last 20 ms
  bool json = false;            // lines instead of a table
  std::string output;           // FILE.json and FILE.md
};

/// Returns whether these are graphs in text form; throws Error where only some of them are.
bool are_graphs(const std::vector<std::string>& models);

/// Measures every graph with all symbols at their bounds: the time of a run, and of the backward pass that
/// the compiler derives from it, next to the bytes that must move and the bandwidth of a copy on the device.
/// Inputs and outputs are states in the device's memory (passes/graph/layout/store_ports.h). Backward is the
/// difference between runs with and without it: its kernels, and what forward keeps for them, are those of a
/// training step.
void bench_operators(const OperatorBench& options);

}  // namespace smelt::cli
