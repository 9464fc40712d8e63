#include "passes/graph/sharding/shard_sequences.h"

#include "llvm/ADT/STLExtras.h"
#include "passes/graph/sharding/assignment.h"
#include "passes/graph/sharding/propagate_shardings.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// The symbols that second dims of inputs are.
std::vector<Dim> sequences_of(const Graph& graph) {
  std::vector<Dim> sequences;
  for (const Node* input : graph.inputs()) {
    const Shape& shape = input->result()->shape();
    if (shape.size() > 1 && !shape[1].is_constant() && shape[1] != shape[0]) sequences.push_back(shape[1]);
  }
  return sequences;
}

/// Which dim of a value is a sequence of rows; nothing for numbers that a token has one of.
std::optional<size_t> sequence_dim(const Value& value, const std::vector<Dim>& sequences) {
  const Shape& shape = value.shape();
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    if (llvm::is_contained(sequences, shape[i])) return i;
  return std::nullopt;
}

/// Derived sharding of result 0 of a node that is a sum over the axis.
class SumsOverRanks {
 public:
  explicit SumsOverRanks(size_t axis) : axis_(axis) {}

  bool operator()(const Node& node) {
    KnownShardings known;
    for (const Value* operand : node.operands()) known.operands.push_back(&*operand->sharding);
    for (const auto& result : node.results()) known.results.push_back(&*result->sharding);
    return llvm::is_contained(assigner_.assign(node, known).result(0).partial, axis_);
  }

 private:
  size_t axis_;
  AxisAssigner assigner_;
};

bool annotate(Value& value, const Value& derived, const std::vector<Dim>& sequences, size_t axis) {
  const auto dim = sequence_dim(value, sequences);
  if (value.sharding || !dim || !derived.sharding->dims[*dim].empty()) return false;
  value.sharding = Sharding{derived.sharding->dims, {}};
  value.sharding->dims[*dim] = {axis};
  return true;
}

/// Every rank is fed whole sequences.
bool keep_whole(const Graph& graph) {
  bool changed = false;
  for (const Node* input : graph.inputs())
    if (Value& value = *input->result(); !value.sharding && value.rank() > 0)
      value.sharding = replicated(value.rank()), changed = true;
  return changed;
}

/// `derived` is the same graph, whose values all have a sharding.
bool annotate(const Graph& graph, const Graph& derived, size_t axis) {
  const std::vector<Dim> sequences = sequences_of(graph);
  SumsOverRanks is_sum(axis);
  bool changed = false;
  for (const auto& [node, other] : llvm::zip_equal(graph.nodes(), derived.nodes()))
    if (node->result_count() == 1 && is_sum(*other))
      changed |= annotate(*node->result(), *other->result(), sequences, axis);
  return changed;
}

}  // namespace

bool shard_sequences(Module& module, const ShardSequencesOptions& options) {
  const auto axis = module.mesh().find(options.axis);
  if (!axis || module.mesh().axes[*axis].size == 1 || module.partitioned) return false;
  bool changed = false;
  for (const auto& graph : module.graphs) changed |= keep_whole(*graph);
  const std::unique_ptr<Module> derived = module.clone();
  for (size_t i = 0; i < module.graphs.size(); ++i) {
    propagate_shardings(*derived->graphs[i], {});
    changed |= annotate(*module.graphs[i], *derived->graphs[i], *axis);
  }
  return changed;
}

}  // namespace smelt
