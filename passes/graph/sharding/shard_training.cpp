#include "passes/graph/sharding/shard_training.h"

#include <fmt/ranges.h>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "passes/graph/pipeline/cut_stages.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

std::vector<size_t> axes_named(const Mesh& mesh, const std::vector<std::string>& names) {
  std::vector<size_t> axes;
  for (const std::string& name : names) {
    const auto axis = mesh.find(name);
    if (!axis) fail("shard_training: the mesh {{{}}} has no axis \"{}\"", str(mesh), name);
    axes.push_back(*axis);
  }
  return axes;
}

/// Elements that ranks exchange together: large buckets took the least time on two GPUs
/// (docs/bench/benchmarks.md), and those of parameters that are gathered take memory.
constexpr int64_t kSummedBucket = int64_t{1} << 26, kGatheredBucket = int64_t{1} << 24;
/// At most one element per this number is padding: gathered values are in memory twice per step, gradients
/// once.
constexpr int64_t kPaddingOfSummed = 128, kPaddingOfGathered = 32;

/// Entries to which every rank feeds a batch of its own.
constexpr std::string_view kFedEntries[] = {"train_step", "accumulate", "evaluate", "batch"};

/// Returns whether ranks feed the entry's inputs; in a pipeline, also for each part.
bool is_fed(const Graph& graph) {
  return llvm::is_contained(kFedEntries, graph.name) || part_number(graph.name, "loss") ||
         part_number(graph.name, "evaluate");
}

/// The symbol of the records: the first dim of the first input that has one there.
std::optional<Dim> batch_of(const Graph& graph) {
  for (const Node* input : graph.inputs()) {
    const Shape& shape = input->result()->shape();
    if (!shape.empty() && !shape[0].is_constant()) return shape[0];
  }
  return {};
}

/// Returns the batch symbol of the entries that ranks feed; it is sharded in other entries too. The first dim
/// of the inputs of @logits may be the length of one record.
std::optional<Dim> batch_of(const Module& module) {
  for (const auto& graph : module.graphs)
    if (is_fed(*graph))
      if (auto batch = batch_of(*graph)) return batch;
  return {};
}

bool cut_batches(const Graph& graph, const std::optional<Dim>& batch, const std::vector<size_t>& axes) {
  bool changed = false;
  for (const Node* input : graph.inputs()) {
    Value& value = *input->result();
    if (value.sharding || value.rank() == 0 || value.shape()[0].is_constant()) continue;
    if (batch && value.shape()[0] != *batch) continue;
    value.sharding = Sharding{std::vector<std::vector<size_t>>(value.shape().size()), {}};
    value.sharding->dims[0] = axes;
    changed = true;
  }
  return changed;
}

/// An input of rank 0 is a number of the run, the same at all ranks.
bool is_of_records(const Node& input, const Dim& batch) {
  const Value& value = *input.result();
  return value.rank() == 0 || value.sharding || input.get(attr::optional) || value.shape()[0] == batch;
}

void check_inputs(const Module& module, const std::vector<size_t>& axes) {
  const auto batch = batch_of(module);
  if (!batch || parts_of(module.mesh(), axes) == 1) return;
  std::vector<std::string> others;
  for (const auto& graph : module.graphs) {
    if (!is_fed(*graph)) continue;
    for (const Node* input : graph->inputs())
      if (!is_of_records(*input, *batch))
        others.push_back(fmt::format("input \"{}\" of @{} : {}, whose records are {}", input->get(attr::name),
                                     graph->name, str(input->result()->type), batch->str()));
  }
  if (others.empty()) return;
  fail(
      "shard_training: ranks feed batches of their own, and these inputs are no parts of a batch: {}. Let "
      "their first dim be that of the records, make them optional, or train on one rank",
      fmt::join(others, "; "));
}

/// A sum is read before it is written.
bool is_read(const Module& module, const std::string& state) {
  return llvm::any_of(module.graphs, [&](const auto& graph) {
    return llvm::any_of(graph->nodes(), [&](const auto& node) {
      return node->is(Op::state) && node->get(attr::name) == state;
    });
  });
}

bool has_rounded_copy(const Module& module, const State& state) {
  return llvm::any_of(module.states, [&](const State& other) { return other.copy_of == state.name; });
}

/// The least stage of ZeRO that cuts a flat state; nothing where none does.
std::optional<int> stage_that_cuts(const Module& module, const State& state) {
  if (state.segments.empty()) return {};
  if (state.role == Role::optimizer) return 1;
  if (state.role == Role::gradient) return 2;
  if (state.role == Role::parameter) return has_rounded_copy(module, state) ? 1 : 3;
  return {};
}

bool share(const Module& module, State& state, const ShardTrainingOptions& options) {
  if (!state.cut.empty() || !state.partial.empty()) return false;
  const auto stage = stage_that_cuts(module, state);
  if (stage && options.zero >= *stage) {
    // Every rank has rows of each bucket.
    state.cut.resize(state.shape.size());
    state.cut[state.shape.size() > 1 ? 1 : 0] = options.axes;
    return true;
  }
  const bool is_sum = state.role == Role::gradient && is_read(module, state.name);
  if (is_sum) state.partial = options.axes;
  return is_sum;
}

}  // namespace

FlattenParametersOptions in_buckets(FlattenParametersOptions flat, const Mesh& mesh,
                                    const ShardTrainingOptions& options) {
  int64_t ranks = 1;
  for (const std::string& name : options.axes)
    if (const auto axis = mesh.find(name)) ranks *= mesh.axes[*axis].size;
  if (options.zero == 0 || ranks == 1) return flat;
  flat.ranks = ranks;
  flat.padding = options.zero >= 3 ? kPaddingOfGathered : kPaddingOfSummed;
  flat.bucket = options.bucket > 0 ? options.bucket : options.zero >= 3 ? kGatheredBucket : kSummedBucket;
  return flat;
}

bool shard_training(Module& module, const ShardTrainingOptions& options) {
  if (module.mesh().empty() || module.partitioned) return false;
  if (options.zero < 0 || options.zero > 3)
    fail("shard_training: zero is {}, expected a stage from 0 to 3", options.zero);
  const std::vector<size_t> axes = axes_named(module.mesh(), options.axes);
  check_inputs(module, axes);
  bool changed = false;
  const auto batch = batch_of(module);
  for (const auto& graph : module.graphs) changed |= cut_batches(*graph, batch, axes);
  for (State& state : module.states) changed |= share(module, state, options);
  return changed;
}

}  // namespace smelt
