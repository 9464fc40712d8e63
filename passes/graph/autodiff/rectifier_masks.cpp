#include "passes/graph/autodiff/make_backward.h"

#include "ir/graph/builder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "passes/analysis.h"
#include "passes/expressions.h"

namespace smelt {
namespace {

bool is_zero(const Value* value) { return splat(value) == 0.0; }

/// k in select(k, x, 0); null for anything else.
Value* guard(const Node& node) {
  return node.is(ScalarOp::select) && is_zero(node.operand(2)) ? node.operand(0) : nullptr;
}

/// x in select(x <= 0, 0, z); null for anything else.
const Value* cut(const Node& node) {
  if (!node.is(ScalarOp::select) || !is_zero(node.operand(1))) return nullptr;
  const Node& compare = *node.operand(0)->node();
  return compare.is(ScalarOp::le) && is_zero(compare.operand(1)) ? compare.operand(0) : nullptr;
}

/// x in x * c with a number c > 0; null for anything else.
Value* scaled(const Node& node) {
  if (!node.is(ScalarOp::mul)) return nullptr;
  const auto factor = splat(node.operand(1));
  return factor && *factor > 0 ? node.operand(0) : nullptr;
}

/// Origin of a value through factors and guards: the value is the origin, scaled, where all guards hold, and
/// otherwise zero.
struct Path {
  const Node* begin;
  llvm::SmallVector<const Value*, 2> guards;
};

Path path_to(const Value* value) {
  Path path{.begin = value->node(), .guards = {}};
  while (true) {
    const Value* kept = guard(*path.begin);
    const Value* from = kept ? path.begin->operand(1) : scaled(*path.begin);
    if (kept) path.guards.push_back(kept);
    if (from == nullptr) return path;
    path.begin = from->node();
  }
}

/// A value that is positive, or NaN, where x is and all `kept` hold, and else zero.
struct Rectified {
  Value* result;
  llvm::SmallVector<const Value*, 2> kept;
};

class MaskFinder {
 public:
  explicit MaskFinder(Graph& graph) : graph_(graph) {}

  bool run() {
    for (const auto& node : graph_.nodes())
      if (node->is(Op::matmul) && !in_backward(*node))
        for (Value* operand : node->operands()) find_rectifier(operand);
    if (rectified_.empty()) return false;
    std::vector<Node*> masks;
    for (const auto& node : graph_.nodes())
      if (applies_mask(*node)) masks.push_back(node.get());
    bool changed = false;
    for (Node* mask : masks) changed |= replace(*mask);
    return changed;
  }

 private:
  void find_rectifier(Value* result) {
    const Path path = path_to(result);
    const Value* x = cut(*path.begin);
    if (x != nullptr && path.begin->operand(2) == x) rectified_[x].push_back({result, path.guards});
  }

  /// x <= 0 ? 0 : gradient of a rectified x.
  bool applies_mask(const Node& node) const {
    const Value* x = in_backward(node) ? cut(node) : nullptr;
    return x != nullptr && rectified_.contains(x);
  }

  /// By the first result whose dropouts the gradient went through: another's would take too much away.
  bool replace(Node& node) {
    const auto guards = path_to(node.operand(2)).guards;
    const auto& results = rectified_[node.operand(0)->node()->operand(0)];
    const auto fitting = llvm::find_if(results, [&](const Rectified& rectified) {
      return llvm::all_of(rectified.kept,
                          [&](const Value* kept) { return llvm::is_contained(guards, kept); });
    });
    if (fitting == results.end()) return false;
    GraphBuilder b(graph_, &node);
    b.set_source(node.source);
    const InheritMarks marks(graph_, &node, node);
    node.set_operand(2, without_guards(b, node.operand(2), *fitting));
    node.set_operand(0, b.le(fitting->result, b.like(fitting->result, 0)));
    return true;
  }

  /// Removes guards from a gradient that is zero anyway where the mask is.
  Value* without_guards(GraphBuilder& b, Value* gradient, const Rectified& rectified) {
    const Node& node = *gradient->node();
    if (const Value* kept = guard(node); kept != nullptr && llvm::is_contained(rectified.kept, kept))
      return without_guards(b, node.operand(1), rectified);
    Value* inner = scaled(node);
    if (inner == nullptr) return gradient;
    Value* lean = without_guards(b, inner, rectified);
    return lean == inner ? gradient : b.mul(lean, node.operand(1));
  }

  Graph& graph_;
  llvm::DenseMap<const Value*, llvm::SmallVector<Rectified, 1>> rectified_;  // by x
};

}  // namespace

bool rectifier_masks(Graph& graph, const RectifierMasksOptions&) { return MaskFinder(graph).run(); }

}  // namespace smelt
