#include "passes/simplify/decompose.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "passes/expressions.h"
#include "passes/fusion/bodies.h"
#include "passes/simplify/decompose_updates.h"
#include "runtime/error.h"

namespace smelt {
namespace {

/// The first of the nodes that stand after `previous` (null: from the start).
Node* after(const Graph& graph, const Node* previous) {
  if (previous) return graph.next(previous);
  return graph.nodes().empty() ? nullptr : graph.nodes().front().get();
}

/// What a matmul's body does may fuse with what is around it. At the end fuse_gemm_epilogues and
/// accumulate_gemms give matmuls the bodies that library calls take.
bool is_split(const Node& node) { return node.is(Op::matmul) && node.body; }

bool stays(const Node& node, const DecomposeOptions& options) {
  return llvm::is_contained(options.keep, node.op()) && (!options.keeps || options.keeps(node));
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
  return decompose_updates(graph) || changed;
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
