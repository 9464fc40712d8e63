#include "passes/graph/sharding/check_collectives.h"

#include <fmt/ranges.h>

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Row of a table of training entries: how ranks run them.
struct EntryRow {
  std::string_view name;
  bool together;  // all ranks, as often as each other
};
constexpr EntryRow kEntryRows[] = {
    {"train_step", true}, {"accumulate", true}, {"apply", true}, {"evaluate", false}, {"logits", false}};

bool is_constant(const Value& value) {
  return llvm::all_of(value.shape(), [](const Dim& dim) { return dim.is_constant(); });
}

/// Parameters that ranks have parts of, which they gather in every entry: then they run it together.
bool gathers_state(const Node& node) {
  return node.get(attr::kind) == "all_gather" && node.operand(0)->node()->is(Op::state);
}

/// Returns the error of the collective; empty: it is valid.
std::string_view fault(const Node& node, const EntryRow& entry) {
  if (gathers_state(node)) return {};
  if (!entry.together) return "which ranks run by themselves, as often as they have batches";
  if (is_constant(*node.operand(0)) && is_constant(*node.result())) return {};
  return "and its size is that of the batch, which is another at each rank";
}

void add_faults(const Graph& graph, std::string_view axis, std::vector<std::string>& faults) {
  const auto* entry = llvm::find_if(kEntryRows, [&](const EntryRow& row) { return row.name == graph.name; });
  if (entry == std::end(kEntryRows)) return;
  for (const auto& node : graph.nodes()) {
    if (!node->is(Op::collective) || node->get(attr::mesh_axis) != axis) continue;
    const std::string_view why = fault(*node, *entry);
    if (!why.empty())
      faults.push_back(fmt::format("{} {} of {} in @{}, {}", node->describe(), node->get(attr::kind),
                                   str(node->result()->type), graph.name, why));
  }
}

}  // namespace

void check_collectives(const Module& module, const CheckCollectivesOptions& options) {
  const std::string& axis = options.axis;
  const auto number = module.mesh().find(axis);
  if (!number || module.mesh().axes[*number].size == 1) return;
  std::vector<std::string> faults;
  for (const auto& graph : module.graphs) add_faults(*graph, axis, faults);
  if (faults.empty()) return;
  fail(
      "ranks along the axis {} of the mesh ({}) have batches of their own, and this model needs numbers of "
      "all "
      "batches: {}. Write it so that each record counts by itself, or train it on one rank",
      axis, str(module.mesh()), fmt::join(faults, "; "));
}

}  // namespace smelt
