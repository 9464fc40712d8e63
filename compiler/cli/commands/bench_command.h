// Options of `smelt bench`, and the model and compilation that they specify.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/shared/adapters.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/cli/shared/search_flags.h"

namespace smelt::cli {

/// Options of the command line, with their defaults. `smelt bench --help` describes each of them.
struct BenchCommand {
  std::vector<std::string> models;  // a model, or graphs in text form; empty: a GPT-2 of the shape below
  int64_t layers = 4, width = 128, heads = 4, vocabulary = 256, length = 128, batch = 16;
  double dropout = 0.1;
  int steps = 6, warm_up = 2, threads = 0, accumulate = 1;
  std::optional<int> together;  // steps per measurement; empty: not given
  bool profile = false, json = false, infer = false, generate = false, sample = false;
  int64_t new_tokens = 32, beams = 1;
  std::string output, trace, pipeline_order = "1f1b";
  CompileFlags flags;
  AdapterFlags adapter;
  SearchFlags search;

  bool has_model() const { return !models.empty(); }
};

/// Returns the model that is measured: the first of `models`, or, if there is none, a GPT-2 of the shape that
/// the options specify.
Description describe(const BenchCommand& command);
/// Returns the options of compilation. With --profile the plan cache is not read, because the profile needs
/// the program (the kernels before code generation), which only a compilation returns.
CompileOptions profiled_options(const BenchCommand& command);
/// Returns a text that describes the measured workload: the model's name, bounds, precision and target, or
/// the shape of the GPT-2.
std::string workload_text(const BenchCommand& command);

}  // namespace smelt::cli
