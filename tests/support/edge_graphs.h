// Random test cases with features that compilers often get wrong: outputs that other nodes read or change in
// place, values that are empty at some sizes, ties and states. Each seed gives one case.
#pragma once

#include <fmt/format.h>

#include "passes/graph/autodiff/differentiate.h"
#include "runtime/base/error.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/wide_graph.h"

namespace smelt::testing {

/// A module, and the data and options for its compilation and run.
struct EdgeCase {
  std::unique_ptr<Module> module;
  CpuCase run;
  CompileOptions options;  // without a target
};

/// Returns the sizes B and T for a seed. For one seed in five, both are 1; for two in five, one of them is 1.
inline SymbolValues edge_sizes(uint64_t seed) {
  std::mt19937_64 random(seed * 77 + 5);
  const auto up_to = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % uint64_t(most)); };
  if (seed % 5 == 0) return {{"B", 1}, {"T", 1}};
  if (seed % 5 == 1) return {{"B", 1}, {"T", up_to(40)}};
  if (seed % 5 == 2) return {{"B", up_to(8)}, {"T", 1}};
  const int64_t b = up_to(8);
  return {{"B", b}, {"T", up_to(std::min<int64_t>(40, 128 / b))}};
}

/// Returns the case of a seed. One seed in four adds gradients to the graph, and another one in four disables
/// an optional pass. `wide`: uses wide_module (wide_graph.h) instead of random_module.
inline EdgeCase edge_case(uint64_t seed, bool wide = false) {
  static constexpr const char* kOptional[] = {
      "simplify",     "rewrite_reductions", "refine_axes",     "merge_gemms", "accumulate_gemms",
      "sink_concats", "group_query_heads",  "match_attention", "chunk_rows",  "fuse_gemm_epilogues"};
  EdgeCase made;
  made.run = {.symbols = edge_sizes(seed), .seed = seed + 1};
  const bool gradients = seed % 4 == 3;
  const int nodes = gradients ? 6 + static_cast<int>(seed % 10) : 8 + static_cast<int>(seed % 23);
  const auto forward = [&] {
    const RandomGraphOptions graph{.nodes = nodes, .scalar = gradients, .shown = 40, .edges = true};
    return wide ? wide_module(seed, graph) : random_module(seed, graph);
  };
  made.module = forward();
  if (gradients) try {
      differentiate(*made.module->graphs.front(), {.output = "loss", .wrt = {"x", "y"}, .seed = 1});
    } catch (const Error&) {  // an insert has no derivative
      made.module = forward();
    }
  made.module->graphs.front()->prune();  // removes values that were too large to be used
  if (seed % 4 == 1) made.options.passes.disabled = {kOptional[seed / 4 % std::size(kOptional)]};
  return made;
}

/// Compares a compiled module with the evaluator. Returns "" if the results are equal within their error
/// bounds, else a description of the fault. Throws NoExpectation if the evaluator rejects the inputs.
inline std::string fault_of(const Module& module, const CpuCase& run, const CompileOptions& options) {
  try {
    std::string faults;
    for (const Difference& found : differences(module, run, options))
      faults += fmt::format("{}wrong: {} has {:.9g}, expected {:.9g} within {:.3g}",
                            faults.empty() ? "" : "; ", found.name, found.found, found.expected, found.bound);
    return faults;
  } catch (const NoExpectation&) {
    throw;
  } catch (const std::exception& error) {
    return fmt::format("refused: {}", error.what());
  }
}

}  // namespace smelt::testing
