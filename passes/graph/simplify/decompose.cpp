#include "passes/graph/simplify/decompose.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "passes/expressions.h"
#include "passes/graph/fusion/bodies.h"
#include "passes/graph/simplify/simplify.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Returns the first of the nodes after `previous` (null: from the start).
Node* after(const Graph& graph, const Node* previous) {
  if (previous) return graph.next(previous);
  return graph.nodes().empty() ? nullptr : graph.nodes().front().get();
}

/// Returns whether the body becomes nodes: these may fuse with their neighbours. At the end
/// fuse_gemm_epilogues and accumulate_gemms give matmuls the epilogues that library calls support.
bool is_split(const Node& node) { return node.is(Op::matmul) && node.body; }

bool stays(const Node& node, const DecomposeOptions& options) {
  if (!llvm::is_contained(options.keep, node.op())) return false;
  return !(node.is(Op::attention) || node.is(Op::attention_grad)) || keeps_attention(node, options.attention);
}

void replace(Graph& graph, Node* node) {
  if (is_split(*node)) return split_body(graph, node);
  GraphBuilder builder(graph, node);
  builder.set_source(node->source);
  Values values;
  {
    const InheritMarks marks(graph, node, *node);
    values = decomposition(node->op())(builder, *node);
  }
  for (auto [i, value] : llvm::enumerate(values)) {
    Value* result = node->result(static_cast<unsigned>(i));
    if (value->name.empty() && value->node()->op() != Op::parameter) value->name = result->name;
    graph.replace_all_uses(result, value);
  }
  graph.erase(node);
}

}  // namespace

bool decompose(Graph& graph, const DecomposeOptions& options) {
  bool changed = false;
  Node* previous = nullptr;
  for (Node* node = after(graph, nullptr); node;) {
    if (!(info(node->op()).has(Trait::composite) || is_split(*node)) || stays(*node, options)) {
      previous = node;
      node = graph.next(node);
      continue;
    }
    replace(graph, node);
    changed = true;
    node = after(graph, previous);  // what was made may be composite again
  }
  changed |= decompose_narrow(graph);
  return decompose_updates(graph) || changed;
}

}  // namespace smelt
