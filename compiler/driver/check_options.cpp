// Checks of options that depend on one another.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "compiler/driver/option_table.h"

namespace smelt {
namespace {

/// The names of the update rules for which `reads` is true.
std::vector<std::string_view> rules_that(bool (*reads)(Optimizer)) {
  std::vector<std::string_view> rules;
  for (size_t i = 0; i < kOptimizerNames.size(); ++i)
    if (reads(static_cast<Optimizer>(i))) rules.push_back(kOptimizerNames[i]);
  return rules;
}

/// Refuses an option that the update rule does not read: it would be lost in silence.
void refuse_unread(const ApplyOptimizerOptions& options) {
  const ApplyOptimizerOptions standard;
  const auto text = [](std::optional<double> number) { return number ? fmt::format("{}", *number) : ""; };
  const struct {
    const char* option;
    std::string given;  // empty: not given
    bool (*reads)(Optimizer);
  } rows[] = {
      {"--beta1", text(options.beta1), [](Optimizer o) { return default_numbers(o).beta1.has_value(); }},
      {"--beta2", text(options.beta2), [](Optimizer o) { return default_numbers(o).beta2.has_value(); }},
      {"--eps", text(options.eps), [](Optimizer o) { return default_numbers(o).eps.has_value(); }},
      {"--momentum", text(options.momentum),
       [](Optimizer o) { return default_numbers(o).momentum.has_value(); }},
      {"--matrix-lr", options.matrix_rate == standard.matrix_rate ? "" : "original", orthogonalizes},
      {"--adamw-lr", options.adamw_rate == standard.adamw_rate ? "" : text(options.adamw_rate),
       orthogonalizes},
      {"--adamw-for", fmt::format("{}", fmt::join(options.adamw_for, ",")), orthogonalizes}};
  for (const auto& row : rows)
    if (!row.given.empty() && !row.reads(options.optimizer))
      fail("{}={} changes nothing with --optimizer={}: expected --optimizer={}", row.option, row.given,
           name(options.optimizer), fmt::join(rules_that(row.reads), ", "));
}

/// The rank and the targets of slots for adapters have no effect without slots.
void refuse_idle_adapters(const BuildOptions& build, bool trains) {
  const BuildOptions standard;
  if (build.adapters > 0 && trains) fail("--adapters={}: expected --mode=infer", build.adapters);
  if (build.adapters > 0) return;
  if (build.adapter_rank != standard.adapter_rank)
    fail("--adapter-rank={}: there are no slots for adapters; expected --adapters=N with it",
         build.adapter_rank);
  if (!build.adapter_targets.empty())
    fail("--adapter-targets={}: there are no slots for adapters; expected --adapters=N with it",
         fmt::join(build.adapter_targets, ","));
}

/// Options that the mode or the mesh leaves without an effect.
void refuse_idle(const CompileOptions& options, bool has_mode) {
  if (options.build.cache_pages > 0 && has_mode && options.mode == Mode::train)
    fail("--cache-pages={}: expected --mode=infer", options.build.cache_pages);
  refuse_idle_adapters(options.build, has_mode && options.mode == Mode::train);
  if (options.stage > 0 && !options.mesh.find(kStageAxis))
    fail("--stage={}: --mesh has no axis stage; expected such as --mesh=stage={}", options.stage,
         options.stage + 1);
}

/// A CPU has one memory, which is the host's.
void check_offload(const CompileOptions& options) {
  if (!options.offload.on()) return;
  if (options.mode != Mode::train)
    fail("--offload-optimizer is for training: what --mode=infer makes has no masters and no moments");
  if (!resolved_target(options).can.own_memory)
    fail(
        "--offload-optimizer moves states from a GPU's memory to the host's, and the target is {}, which has "
        "that memory alone: leave it out, or give --target=cuda",
        options.target);
}

void check_memory(const CompileOptions& options) {
  check_offload(options);
  if (options.memory_budget && options.recompute_given)
    fail("--memory-budget chooses what is computed again: leave it or --recompute out");
  if (options.recompute.has_price() && !options.pipeline.empty())
    fail(
        "--recompute is of the default pipeline: give its parts as those of rematerialize{{...}} in "
        "--pipeline");
}

}  // namespace

CompileOptions checked_options(CompileOptions options, bool has_mode) {
  refuse_idle(options, has_mode);
  refuse_unread(options.training.optimizer);
  check_options(options.training.optimizer);
  check_memory(options);
  options.passes.dump_dir = options.dump_dir;
  options.passes.reproducer_dir =
      options.dump_dir.empty() && options.passes.verify_each ? "." : options.dump_dir;
  return options;
}

}  // namespace smelt
