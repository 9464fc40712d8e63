// --plan-search: the options of commands that choose how ranks train a model together, and what they print of
// it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "compiler/cli/commands/train_ranks.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/search/plan_search.h"

namespace smelt::cli {

struct SearchFlags {
  bool is_on = false;
  int64_t ranks = 0;  // of commands that simulate them

  /// Adds --plan-search, which excludes --mesh, --zero, --recompute and others that it chooses. Requires:
  /// `command` has these already.
  void add_to(CLI::App& command);
  /// Adds --mesh-size, too.
  void add_simulated(CLI::App& command);
};

/// The input of a search: a model, and its options with all ranks along `data`.
struct SearchedModel {
  Description description;
  CompileOptions options;
  int64_t micro_batches = 1;
  std::string no_stages = {};  // why the command cannot run stages of a pipeline; empty: it can
};

/// The plan that was chosen, as all ranks know it.
struct ChosenPlan {
  std::string mesh, recompute;  // as --mesh and --recompute take them
  int zero = 0;
  bool sequence_parallel = false;
  int64_t parts_a_stage = 1;
  int64_t batch = 1, micro_batches = 1;
  int64_t base_batch = 1;           // the bound of B that was searched from
  int64_t bytes = 0;                // of a rank's states and arena
  double seconds = 0, exposed = 0;  // predicted, of an update
  double bubble = 0;                // the part of it in which stages stand idle

  /// Applies the plan as if its values had been given as options: bounds of B, of products with it, --mesh,
  /// --zero and --recompute.
  void apply(CompileOptions& options) const;
};
std::string to_text(const ChosenPlan& plan);
/// Throws Error where the text is none of to_text's.
ChosenPlan parse_chosen_plan(std::string_view text);

struct FoundPlan {
  PlanSearch search;
  std::optional<int64_t> budget;  // as find_plan says; nothing: it is not known
  std::string table;              // for people

  /// Returns the best plan that fits. Throws Error with the least memory of a plan, where none fits.
  ChosenPlan chosen() const;
};
/// Finds the plan for `ranks` ranks within --memory-budget, or else the memory of the current device.
FoundPlan find_plan(const SearchedModel& model, int64_t ranks);

/// Trains over all ranks. Where a search is asked for, rank 0 makes it and prints the result to standard
/// error; all ranks train the plan that it chose. `model` is called at rank 0 alone, with its device.
void train_over_ranks(const SearchFlags& flags, const Mesh& mesh,
                      const std::function<SearchedModel(int device)>& model,
                      const std::function<void(TrainRanks*, const ChosenPlan*)>& train);

/// Prints the plans for `ranks` ranks to standard output. Throws Error where nothing fits.
void print_search(SearchedModel model, int64_t ranks);

/// "predicted 12.3 ms a step, 1.2 ms of it for other ranks; measured 12.9 ms (1.05 x)"
std::string prediction_text(const ChosenPlan& plan, double measured_seconds);

}  // namespace smelt::cli
