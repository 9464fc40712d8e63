#include "passes/simplify/decompose.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "passes/expressions.h"
#include "runtime/error.h"

namespace smelt {
namespace {

/// The first of the nodes that stand after `previous` (null: from the start).
Node* after(const Graph& graph, const Node* previous) {
  if (previous) return graph.next(previous);
  return graph.nodes().empty() ? nullptr : graph.nodes().front().get();
}

/// A bias joins its product again at the end, where the target adds it (fuse_gemm_epilogues), other sums
/// where they are made in place (accumulate_gemms).
bool has_addend(const Node& node) { return node.is(Op::matmul) && node.operands().size() == 3; }

Value* product_and_sum(GraphBuilder& b, const Node& node) {
  Value* product = b.create(Op::matmul, {node.operand(0), node.operand(1)}, node.attributes)->result();
  return b.add(product, b.broadcast_leading(node.operand(2), product->shape()));
}

void replace(Graph& graph, Node* node) {
  GraphBuilder builder(graph, node);
  builder.set_source(node->source);
  Value* value = nullptr;
  {
    const InheritMarks marks(graph, node, *node);
    value = has_addend(*node) ? product_and_sum(builder, *node) : decomposition(node->op())(builder, *node);
  }
  if (value->name.empty() && value->node()->op() != Op::parameter) value->name = node->result()->name;
  graph.replace_all_uses(node->result(), value);
  graph.erase(node);
}

}  // namespace

bool decompose(Graph& graph, const DecomposeOptions& options) {
  bool changed = false;
  Node* previous = nullptr;
  for (Node* node = after(graph, nullptr); node;) {
    if (!(info(node->op()).has(Trait::composite) || has_addend(*node)) ||
        llvm::is_contained(options.keep, node->op())) {
      previous = node;
      node = graph.next(node);
      continue;
    }
    replace(graph, node);
    changed = true;
    node = after(graph, previous);  // what was made may be composite again
  }
  return changed;
}

void set_option(DecomposeOptions& options, std::string_view key, std::string_view value) {
  if (key != "keep") fail("decompose has no option '{}': expected keep", key);
  llvm::SmallVector<llvm::StringRef, 4> names;
  llvm::StringRef(value).split(names, '+', -1, false);
  for (llvm::StringRef name : names) {
    const auto op = parse_op(std::string_view(name));
    if (!op || !info(*op).has(Trait::composite))
      fail("decompose: '{}' is no composite op (ops.def lists them)", std::string_view(name));
    options.keep.push_back(*op);
  }
}

}  // namespace smelt
