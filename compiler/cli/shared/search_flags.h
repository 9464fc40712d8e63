// --plan-search: a search for the mesh and the other options with which ranks train a model together in the
// least time. This header declares its flags, its result, and the texts that commands print about it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "compiler/cli/commands/train_ranks.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/search/plan_search.h"

namespace smelt::cli {

/// The flags of a search.
struct SearchFlags {
  bool is_on = false;  // --plan-search was given
  int64_t ranks = 0;   // value of --mesh-size; 0: not given

  /// Adds --plan-search, which cannot be given together with options that the search chooses (--mesh, --zero,
  /// --recompute, ...). Requires: `command` already has these options.
  void add_to(CLI::App& command);
  /// Adds --plan-search, and --mesh-size, the number of ranks for commands that start none.
  void add_simulated(CLI::App& command);
};

/// The input of a search: a model, and its options without a mesh. The symbol B is the number of records per
/// micro-batch of a rank. options.build.bounds has the bound of B for a mesh whose ranks are all along the
/// axis `data`.
struct SearchedModel {
  Description description;
  CompileOptions options;
  int64_t micro_batches = 1;   // per update, if all ranks are along `data`
  std::string no_stages = {};  // why the command cannot run stages of a pipeline; empty: it can
};

/// The plan that was chosen. Rank 0 sends it to all ranks.
struct ChosenPlan {
  std::string mesh, recompute;  // values for --mesh and --recompute
  int zero = 0;                 // stage of ZeRO
  bool sequence_parallel = false;
  int64_t parts_a_stage = 1;             // parts of the model per pipeline stage
  int64_t batch = 1, micro_batches = 1;  // records per micro-batch of a rank; micro-batches per update
  int64_t base_batch = 1;                // the bound of B in the options that the search began with
  int64_t bytes = 0;                     // memory of the rank that needs the most (PlanCost::bytes)
  /// Predicted seconds of an update, and the part of the seconds that collectives add.
  double seconds = 0, exposed = 0;
  double bubble = 0;  // share of an update in which pipeline stages are idle, 0 to 1

  /// Sets the options that were chosen: the bounds of B and of products that contain B, --mesh, --zero,
  /// --sequence-parallel, --pipeline-parts and --recompute. Removes --memory-budget.
  void apply(CompileOptions& options) const;
};
/// Returns the plan as a text for parse_chosen_plan.
std::string to_text(const ChosenPlan& plan);
/// Throws Error if the text is not a result of to_text.
ChosenPlan parse_chosen_plan(std::string_view text);

/// The result of a search.
struct FoundPlan {
  PlanSearch search;
  std::optional<int64_t> budget;  // bytes per rank; empty: unknown, so that every plan fits
  std::string table;              // table of the plans, for people

  /// Returns the fastest plan that fits. If none fits, throws Error with the least memory of a plan.
  ChosenPlan chosen() const;
};
/// Finds the plan for `ranks` ranks. The budget is the value of --memory-budget. Without that option, it is
/// the free memory of this machine's GPU minus 1 GiB for libraries. For a CPU it is a rank's share of the
/// machine's free memory. For a GPU that this machine does not have, there is no budget.
FoundPlan find_plan(const SearchedModel& model, int64_t ranks);

/// Trains over all ranks. If flags.is_on, rank 0 searches and prints the plans to standard error, and all
/// ranks use the chosen plan instead of `mesh`. `model` returns the input of the search; it is called at rank
/// 0 only, with the number of its GPU (-1: none, or the default one). `train` is called with null ranks if
/// this process was started alone, and with a null plan if there was no search.
void train_over_ranks(const SearchFlags& flags, const Mesh& mesh,
                      const std::function<SearchedModel(int device)>& model,
                      const std::function<void(TrainRanks*, const ChosenPlan*)>& train);

/// Searches, and prints the plans for `ranks` ranks to standard output. If `ranks` is 0, searches for one
/// rank. Throws Error if no plan fits.
void print_search(SearchedModel model, int64_t ranks);

/// Returns a text such as
/// "predicted 12.3 ms a step, 1.2 ms of it for other ranks; measured 12.9 ms (1.05 x)".
std::string prediction_text(const ChosenPlan& plan, double measured_seconds);

}  // namespace smelt::cli
