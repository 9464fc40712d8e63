#include "passes/graph/sharding/exchange_addends.h"

#include "ir/graph/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "passes/expressions.h"
#include "passes/graph/sharding/assignment.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

bool depends_on_batch(const Value& value) {
  return llvm::any_of(value.shape(), [](const Dim& dim) { return !dim.is_constant(); });
}

bool is_exchanged(const Node& node, const ExchangeAddendsOptions& options) {
  if (!node.is(Op::collective) || node.get(attr::kind) != "reduce_scatter") return false;
  const bool adds = !node.has(attr::sum) || node.get(attr::sum) == "add";
  const Value& addends = *node.operand(0);
  return adds && is_float(addends.dtype()) && depends_on_batch(addends) &&
         mesh_axis(node).size <= options.most_ranks &&
         whole_bytes(addends) >= static_cast<double>(options.least_bytes);
}

/// The dim as [ranks, a rank's part], of which this rank keeps its own and gets those of all others: as many
/// numbers in the same places, so the result is again of the operand's shape.
Value* exchanged(GraphBuilder& b, const Node& sum, int64_t dim, int64_t ranks) {
  const Shape& whole = sum.operand(0)->shape();
  Shape parts = whole;
  parts[static_cast<size_t>(dim)] = sum.result()->shape()[static_cast<size_t>(dim)];
  parts.insert(parts.begin() + dim, Dim(ranks));
  const Attributes attributes = {attr::kind("all_to_all"), attr::mesh_axis(sum.get(attr::mesh_axis)),
                                 attr::dim(dim + 1), attr::to(dim)};
  Value* given = b.reshape(sum.operand(0), parts);
  return b.reshape(b.create(Op::collective, {given}, attributes)->result(), whole);
}

Value* summed_by_this_rank(GraphBuilder& b, const Node& sum) {
  const int64_t dim = sum.get(attr::dim), ranks = mesh_axis(sum).size;
  const Dim part = sum.result()->shape()[static_cast<size_t>(dim)];
  Value* addends = exchanged(b, sum, dim, ranks);
  Value* all = nullptr;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Value* addend = b.slice(addends, dim, part * rank, part);
    all = all ? b.add(all, addend) : addend;
  }
  return all;
}

void replace(Graph& graph, Node& sum) {
  const InheritMarks marks(graph, &sum, sum);
  GraphBuilder b(graph, &sum);
  b.set_source(sum.source);
  Value* made = summed_by_this_rank(b, sum);
  made->sharding = sum.result()->sharding;
  graph.replace_all_uses(sum.result(), made);
}

}  // namespace

bool exchange_addends(Graph& graph, const ExchangeAddendsOptions& options) {
  std::vector<Node*> sums;
  for (const auto& node : graph.nodes())
    if (is_exchanged(*node, options)) sums.push_back(node.get());
  for (Node* sum : sums) replace(graph, *sum);
  if (!sums.empty()) graph.prune();
  return !sums.empty();
}

}  // namespace smelt
