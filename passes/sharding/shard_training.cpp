#include "passes/sharding/shard_training.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/error.h"

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

bool cut_batches(const Graph& graph, const std::vector<size_t>& axes) {
  bool changed = false;
  for (const Node* input : graph.inputs()) {
    Value& value = *input->result();
    if (value.sharding || value.rank() == 0 || value.shape()[0].is_constant()) continue;
    value.sharding = Sharding{std::vector<std::vector<size_t>>(value.shape().size()), {}};
    value.sharding->dims[0] = axes;
    changed = true;
  }
  return changed;
}

/// A sum is read before it is written.
bool is_read(const Module& module, const std::string& state) {
  return llvm::any_of(module.graphs, [&](const auto& graph) {
    return llvm::any_of(graph->nodes(), [&](const auto& node) {
      return node->is(Op::state) && node->string_attr("name") == state;
    });
  });
}

bool has_rounded_copy(const Module& module, const State& state) {
  return llvm::any_of(module.states, [&](const State& other) { return other.copy_of == state.name; });
}

bool share(const Module& module, State& state, const ShardTrainingOptions& options) {
  if (!state.cut.empty() || !state.partial.empty()) return false;
  const bool is_sum = state.role == Role::gradient && is_read(module, state.name);
  const bool is_flat = !state.segments.empty() && state.copy_of.empty();
  const bool is_cut =
      options.zero > 0 && is_flat &&
      (state.role == Role::optimizer || (state.role == Role::parameter && has_rounded_copy(module, state)));
  if (is_sum) state.partial = options.axes;
  if (is_cut) state.cut = {options.axes};
  return is_sum || is_cut;
}

}  // namespace

bool shard_training(Module& module, const ShardTrainingOptions& options) {
  if (module.mesh().empty() || module.partitioned) return false;
  const std::vector<size_t> axes = axes_named(module.mesh(), options.axes);
  bool changed = false;
  for (const auto& graph : module.graphs) changed |= cut_batches(*graph, axes);
  for (State& state : module.states) changed |= share(module, state, options);
  return changed;
}

void set_option(ShardTrainingOptions& options, std::string_view key, std::string_view value) {
  if (key == "axes") {
    llvm::SmallVector<llvm::StringRef, 2> names;
    llvm::StringRef(value).split(names, '+');
    options.axes.assign(names.begin(), names.end());
  } else if (key == "zero") {
    if (value != "0" && value != "1") fail("shard_training: zero is '{}', expected 0 or 1", value);
    options.zero = value == "1" ? 1 : 0;
  } else {
    fail("shard_training has no option '{}'; it has axes, zero", key);
  }
}

}  // namespace smelt
