#include "passes/graph/sharding/sums.h"

#include <map>
#include <tuple>

#include "ir/graph/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/sharding/assignment.h"

namespace smelt {
namespace {

/// Sums that are joined: over one axis, by one operation, of one type.
using SumKind = std::tuple<std::string, std::string, DType>;
using Sums = std::vector<Node*>;

bool is_joined(const Value& operand, const Node& pack, const JoinSumsOptions& options) {
  const Node& node = *operand.node();
  if (!node.is(Op::collective) || node.get(attr::kind) != "all_reduce") return false;
  const bool has_size = llvm::all_of(operand.shape(), [](const Dim& dim) { return dim.is_constant(); });
  return has_size && whole_bytes(operand) <= static_cast<double>(options.most_bytes) &&
         llvm::all_of(operand.users(), [&](const Node* user) { return user == &pack; });
}

std::map<SumKind, Sums> sums_of(const Node& pack, const JoinSumsOptions& options) {
  std::map<SumKind, Sums> kinds;
  for (const Value* operand : pack.operands()) {
    if (!is_joined(*operand, pack, options)) continue;
    Node& sum = *operand->node();
    Sums& sums = kinds[{sum.get(attr::mesh_axis), sum.has(attr::sum) ? sum.get(attr::sum) : "add",
                        sum.result()->dtype()}];
    if (!llvm::is_contained(sums, &sum)) sums.push_back(&sum);
  }
  return kinds;
}

/// In front of the pack; the sums are gone afterwards.
void join(Node& pack, const Sums& sums) {
  Graph& graph = pack.graph();
  Node* before = graph.previous(&pack);
  GraphBuilder b(graph, &pack);
  b.set_source(pack.source);
  llvm::SmallVector<Value*, 8> rows;
  for (const Node* sum : sums) {
    Value* addend = sum->operand(0);
    rows.push_back(b.reshape(addend, {element_count(addend->shape())}));
  }
  Value* all = b.create(Op::collective, {b.concat(rows, 0)}, sums[0]->attributes)->result();
  Dim begin = 0;
  for (Node* sum : sums) {
    const Dim count = element_count(sum->result()->shape());
    graph.replace_all_uses(sum->result(), b.reshape(b.slice(all, 0, begin, count), sum->result()->shape()));
    begin = begin + count;
  }
  for (Node* made = graph.next(before); made != &pack; made = graph.next(made)) made->phase = pack.phase;
}

}  // namespace

bool join_sums(Graph& graph, const JoinSumsOptions& options) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    if (!node->is(Op::pack)) continue;
    for (const auto& [kind, sums] : sums_of(*node, options))
      if (sums.size() > 1) join(*node, sums), changed = true;
  }
  if (changed) graph.prune();
  return changed;
}

}  // namespace smelt
