#include "passes/graph/sharding/assign_nodes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

class NodesTogether {
 public:
  NodesTogether(const Graph& graph, llvm::function_ref<KnownShardings(const Node&)> known)
      : graph_(graph), mesh_(graph.module().mesh()), known_(known) {}

  Assignments run() {
    for (const auto& node : graph_.nodes())
      for (const auto& result : node->results()) gather_for_readers(*result);
    remember_moves();
    Assignments assignments;
    for (const auto& node : graph_.nodes()) assignments[node.get()] = assigner_.assign(*node, known_(*node));
    return assignments;
  }

 private:
  using Readers = llvm::SmallVector<const Node*, 4>;

  /// Parameters stay where they are: what else is read goes there.
  void gather_for_readers(const Value& value) {
    if (value.node()->is(Op::parameter)) return;
    llvm::MapVector<Phase, Readers> by_phase;
    for (const Node* user : value.users())
      if (Readers& readers = by_phase[user->phase]; !llvm::is_contained(readers, user))
        readers.push_back(user);
    for (const auto& [phase, readers] : by_phase)
      if (readers.size() > 1) gather_for(value, phase, readers);
  }

  void gather_for(const Value& value, Phase phase, const Readers& readers) {
    const Sharding lies = how_it_lies(value, *readers.front());
    for (size_t d = 0; d < lies.dims.size(); ++d) {
      if (lies.dims[d].empty()) continue;
      Sharding gathered = lies;
      gathered.dims[d].pop_back();
      const double apart = cost_of(readers);
      if (apart == 0) return;
      assigner_.add_move(value, gathered, phase);
      const double together =
          cost_of(readers) + kLatencyBytes + moved_bytes(assigner_.bytes(value), lies, gathered, mesh_);
      if (together >= apart) assigner_.drop_move(value);
    }
  }

  Sharding how_it_lies(const Value& value, const Node& reader) const {
    for (unsigned i = 0; i < reader.operands().size(); ++i)
      if (reader.operand(i) == &value) return {known_(reader).operands[i]->dims, {}};
    return replicated(value.rank());
  }

  double cost_of(const Readers& readers) {
    double all = 0;
    for (const Node* reader : readers) {
      double cost = 0;
      assigner_.assign(*reader, known_(*reader), &cost);
      all += cost;
    }
    return all;
  }

  /// Records the moves of each node, whose results other nodes can use.
  void remember_moves() {
    AxisAssigner alone = assigner_;
    for (const auto& node : graph_.nodes()) {
      const KnownShardings known = known_(*node);
      const Assignment made = alone.assign(*node, known);
      for (unsigned i = 0; i < node->operands().size(); ++i)
        if (const Sharding needed = made.operand(i);
            known.operands[i] && known.operands[i]->dims != needed.dims)
          assigner_.add_move(*node->operand(i), needed, node->phase, node.get());
    }
  }

  const Graph& graph_;
  const Mesh& mesh_;
  llvm::function_ref<KnownShardings(const Node&)> known_;
  AxisAssigner assigner_;
};

}  // namespace

Assignments assign_nodes(const Graph& graph, llvm::function_ref<KnownShardings(const Node&)> known) {
  return NodesTogether(graph, known).run();
}

}  // namespace smelt
