#include "compiler/sharing.h"

#include "ir/verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/sharding/join_sums.h"
#include "passes/sharding/leave_addends.h"
#include "passes/sharding/partition.h"
#include "passes/sharding/propagate_shardings.h"
#include "passes/sharding/shard_sequences.h"

namespace smelt {

bool shares_parameters(const Module& module) {
  return llvm::any_of(module.parameters, [](const Module::Parameter& parameter) {
    return parameter.sharding && !parameter.sharding->is_replicated();
  });
}

void plan_neighbours(Module& module, PassManager manager) {
  const std::unique_ptr<Module> copy = module.clone();
  manager.add("merge_gemms");
  manager.run(*copy);
  module.adjacent = copy->adjacent;
}

int64_t pipeline_stages(const Mesh& mesh) {
  const auto axis = mesh.find(kStageAxis);
  return axis ? mesh.axes[*axis].size : 1;
}

std::vector<std::string> share_batches(Module& module, const ShardTrainingOptions& options) {
  if (!module.mesh().find("data") || module.partitioned) return {};
  shard_training(module, options);
  return leave_addends(module, "data");
}

namespace {

/// Passes with the options of all, whose time counts.
void run_passes(Module& module, PassManager passes, Compilation& result) {
  passes.run(module);
  result.pass_timing += passes.timing_report();
}

/// Matrices of neighbours, of which one rank's parts are neighbours, too.
void merge_parts(Module& module, const CompileOptions& options, Compilation& result) {
  PassManager passes(options.passes);
  passes.add("simplify,merge_gemms");
  run_passes(module, std::move(passes), result);
}

}  // namespace

void share_over_ranks(Module& module, const CompileOptions& options, const Target& target,
                      const ShardTrainingOptions& sharing, Compilation& result) {
  if (module.mesh().empty() || module.partitioned) return;
  const bool trains = options.mode == Mode::train, cuts_sequences = trains && options.sequence_parallel;
  std::vector<std::string> addends;
  if (trains) addends = share_batches(module, sharing);
  if (cuts_sequences) shard_sequences(module, {});
  std::vector<ShardingEntry> values;
  std::vector<CollectiveEntry> collectives;
  PassManager passes(options.passes);
  passes.add({"propagate_shardings", {}}, [&](Graph& g) {
    return propagate_shardings(g, {options.explain_sharding ? &values : nullptr});
  });
  run_passes(module, std::move(passes), result);
  partition(module, {.addends = addends, .whole_outputs = true, .log = &collectives});
  PassManager behind(options.passes);
  behind.add("reassociate_sums");
  if (target.is_cuda()) behind.add("exchange_addends");
  run_passes(module, std::move(behind), result);
  if (cuts_sequences)
    for (const auto& graph : module.graphs) join_sums(*graph, {});
  if (shares_parameters(module)) merge_parts(module, options, result);
  verify_or_throw(module);
  if (options.explain_sharding) result.shardings = explain(values) + explain(collectives);
}

}  // namespace smelt
