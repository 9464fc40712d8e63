#include "passes/sharding/shard_batches.h"

#include "llvm/ADT/STLExtras.h"
#include "runtime/error.h"

namespace smelt {
namespace {

bool is_batch(const Value& input, const std::string& symbol) {
  return input.rank() > 0 && input.shape()[0] == Dim::symbol(symbol);
}

void cut_batch(Value& input, size_t axis) {
  if (!input.sharding) input.sharding.emplace().dims.resize(input.shape().size());
  input.sharding->dims[0] = {axis};
}

void cut_inputs(Graph& graph, size_t axis, const ShardBatchesOptions& options) {
  bool found = false;
  for (const Node* input : graph.inputs()) {
    if (!is_batch(*input->result(), options.symbol)) continue;
    cut_batch(*input->result(), axis);
    found = true;
  }
  if (!found)
    fail("graph @{} has no input whose first dim is {}, which ranks along the axis {} of the mesh ({}) cut",
         graph.name, options.symbol, options.axis, str(graph.module().mesh()));
}

/// What @accumulate adds to.
void make_sums_partial(Module& module, const std::string& axis) {
  for (State& state : module.states)
    if (state.role == Role::gradient && !llvm::is_contained(state.partial, axis))
      state.partial.push_back(axis);
}

}  // namespace

bool shard_batches(Module& module, const ShardBatchesOptions& options) {
  const auto axis = module.mesh().find(options.axis);
  if (!axis) return false;
  bool changed = false;
  for (const char* name : {"train_step", "accumulate"})
    if (Graph* graph = module.find_graph(name)) cut_inputs(*graph, *axis, options), changed = true;
  if (module.find_graph("accumulate")) make_sums_partial(module, options.axis);
  return changed;
}

void set_option(ShardBatchesOptions& options, std::string_view key, std::string_view value) {
  if (key == "axis")
    options.axis = value;
  else if (key == "symbol")
    options.symbol = value;
  else
    fail("shard_batches: there is no option '{}'; there are axis and symbol", key);
}

}  // namespace smelt
