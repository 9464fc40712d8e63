#include "passes/graph/axes/refine_axes.h"

#include "ir/graph/body.h"
#include "ir/graph/builder.h"
#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/expressions.h"
#include "passes/graph/axes/axis_relations.h"
#include "passes/graph/axes/split_letters.h"

namespace smelt {
namespace {

bool is_reshaped(const Value* value) { return value->node()->is(Op::reshape); }

/// A matmul that may take on split axes: ranks do not share its result along those that it has.
bool is_product(const Node& node) { return node.is(Op::matmul) && !node.body && !node.result()->sharding; }

// ---- reshapes between operations that a kernel could compute together

class Borders {
 public:
  explicit Borders(const AxisRelations& relations) : relations_(relations) {}

  bool stands_between(const Node& reshape) const {
    return is_computed(reshape, reshape.operand(0)) && is_read(reshape.result());
  }

 private:
  bool computes(const Node& node) const {
    return relations_.relates(node) && !is_view(node) && !node.is(Op::concat);
  }

  bool is_computed(const Node& reshape, const Value* value) const {
    const Node& maker = *value->node();
    if (maker.is(Op::reshape) || maker.is(Op::broadcast)) return is_computed(reshape, maker.operand(0));
    if (is_product(maker)) return llvm::any_of(maker.operands(), is_reshaped) || joins_rows(reshape);
    return computes(maker);
  }

  /// Rows of a matmul's result become one axis: what follows works on the rows as it would before.
  static bool joins_rows(const Node& reshape) {
    const Shape &from = reshape.operand(0)->shape(), &to = reshape.result()->shape();
    return !to.empty() && to.size() < from.size() && from.back() == to.back();
  }

  bool is_read(const Value* value) const {
    return llvm::any_of(value->users(), [&](const Node* user) {
      if (user->is(Op::gather) && user->operand(0) == value) return false;
      if (user->is(Op::attention)) return is_argument(*user, value);
      return user->is(Op::reshape) || user->is(Op::broadcast) ? is_read(user->result()) : computes(*user);
    });
  }

  /// Read by the body of an attention.
  static bool is_argument(const Node& attention, const Value* value) {
    return llvm::is_contained(attention.operands().drop_front(own_operands(attention).size()), value);
  }

  const AxisRelations& relations_;
};

// ---- the rewrite

class Refiner {
 public:
  explicit Refiner(Graph& graph) : graph_(graph), relations_(graph) {}

  bool run() {
    if (!match_reshapes()) return false;
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) nodes.push_back(node.get());
    for (Node* node : nodes) rebuild(*node);
    for (auto [from, to] : replaced_) graph_.replace_all_uses(from, to);
    graph_.prune();
    return true;
  }

 private:
  bool match_reshapes() {
    const Borders borders(relations_);
    for (const auto& node : graph_.nodes())
      if (node->is(Op::reshape) && !node->result()->sharding && borders.stands_between(*node) &&
          relations_.classes.match(relations_.axes(node->operand(0)), relations_.axes(node->result())))
        matched_.insert(node.get());
    return !matched_.empty();
  }

  void rebuild(Node& node) {
    if (matched_.contains(&node)) return replace(node, refined(node.operand(0), node));
    if (is_product(node)) return rebuild_matmul(node);
    if (!relations_.relates(node) || !changes(node)) return;
    if (Value* plain = without_axis(node)) return replace(node, plain);
    llvm::SmallVector<Value*, 3> operands;
    for (Value* operand : node.operands()) operands.push_back(refined(operand, node));
    Node* twin = graph_.clone(node, operands, &node);
    twin->result()->type.shape = relations_.shape(node.result());
    refine_attributes(node, *twin);
    replace(node, twin->result());
  }

  bool changes(const Node& node) const {
    const auto is_split = [&](const Value* value) { return relations_.is_split(value); };
    return llvm::any_of(node.operands(), is_split) || is_split(node.result());
  }

  /// Returns the replacement of a node whose only axis is removed: positions along it are 0, sums along it
  /// are the one element.
  Value* without_axis(Node& node) {
    const auto is_gone = [&](const Value* value, int64_t axis) {
      return relations_.classes.parts({relations_.axes(value)[axis]}).empty();
    };
    GraphBuilder b(graph_, &node);
    const InheritMarks marks(graph_, &node, node);
    b.set_source(node.source);
    if (node.is(Op::iota) && is_gone(node.result(), node.get(attr::axis)))
      return b.constant(0, {DType::i32, relations_.shape(node.result())});
    if (node.is(Op::reduce) &&
        llvm::all_of(node.get(attr::axes), [&](int64_t axis) { return is_gone(node.operand(0), axis); }))
      return refined(node.operand(0), node);
    return nullptr;
  }

  // ---- attributes that count axes

  /// The places of the parts of `value`'s axis among the parts of all its axes.
  std::vector<int64_t> places(const Value* value, int64_t axis) const {
    const AxisRelations::Axes& axes = relations_.axes(value);
    const auto count = [&](llvm::ArrayRef<int> some) {
      return static_cast<int64_t>(relations_.classes.parts(some).size());
    };
    std::vector<int64_t> result(static_cast<size_t>(count({axes[axis]})));
    std::iota(result.begin(), result.end(),
              count(llvm::ArrayRef(axes).take_front(static_cast<size_t>(axis))));
    return result;
  }

  std::vector<int64_t> places(const Value* value, llvm::ArrayRef<int64_t> axes) const {
    std::vector<int64_t> result;
    for (int64_t axis : axes) llvm::append_range(result, places(value, axis));
    return result;
  }

  void refine_attributes(const Node& node, Node& twin) const {
    const auto refine = [&](AttributeName<std::vector<int64_t>> name, const Value* value) {
      twin.set(name, places(value, node.get(name)));
    };
    if (node.is(Op::broadcast)) refine(attr::axes, node.result());
    if (node.is(Op::reduce)) refine(attr::axes, node.operand(0));
    if (node.is(Op::transpose)) refine(attr::permutation, node.operand(0));
    if (node.is(Op::iota)) twin.set(attr::axis, places(node.result(), node.get(attr::axis))[0]);
    if (node.is(Op::gather) || node.is(Op::slice) || node.is(Op::concat))
      twin.set(attr::axis, places(node.operand(0), node.get(attr::axis))[0]);
  }

  // ---- matmuls

  /// Gives letters to the parts of the result's axes, if the operands that have them come from a reshape.
  void rebuild_matmul(Node& node) {
    if (!relations_.is_split(node.result())) return;
    const MatmulSpec spec = parse_matmul_spec(node.get(attr::spec));
    const SplitLetters letters = letters_of(node, spec);
    if (!letters.is_any_split()) return;
    GraphBuilder b(graph_, &node);
    const InheritMarks marks(graph_, &node, node);
    b.set_source(node.source);
    Value* left = b.reshape(nearest(node.operand(0)), letters.shape(spec.a, node.operand(0)->shape()));
    Value* right = b.reshape(nearest(node.operand(1)), letters.shape(spec.b, node.operand(1)->shape()));
    Node* twin = graph_.clone(node, {left, right}, &node);
    twin->set(attr::spec, letters.spec().str());
    twin->result()->type.shape = letters.shape(spec.out, node.result()->shape());
    replace(node, b.reshape(twin->result(), relations_.shape(node.result())));
  }

  SplitLetters letters_of(const Node& node, const MatmulSpec& spec) const {
    SplitLetters letters(spec);
    for (auto [i, letter] : llvm::enumerate(spec.out)) {
      const int axis = relations_.axes(node.result())[i];
      const bool left = takes(node.operand(0), spec.a, letter),
                 right = takes(node.operand(1), spec.b, letter);
      if (relations_.classes.is_split(axis) && left && right)
        letters.split(letter, relations_.classes.shape({axis}));
    }
    return letters;
  }

  /// Returns whether the operand, if it has the letter, needs no reshape of its own.
  bool takes(const Value* operand, const std::string& letters, char letter) const {
    return letters.find(letter) == std::string::npos || is_reshaped(operand) ||
           (relations_.relates(*operand->node()) && relations_.is_split(operand));
  }

  Value* nearest(Value* value) const {
    Value* known = refined_.lookup(value);
    return known ? known : value;
  }

  // ---- values with split axes and as they were

  /// The value with split axes, for `reader`.
  Value* refined(Value* value, Node& reader) {
    if (Value* known = refined_.lookup(value)) return known;
    if (!relations_.is_split(value)) return value;
    GraphBuilder b(graph_, &reader);
    const InheritMarks marks(graph_, &reader, *value->node());
    b.set_source(value->node()->source);
    return refined_[value] = b.reshape(value, relations_.shape(value));
  }

  /// `twin` replaces the node's result from now on; readers that keep their axes get them back.
  void replace(Node& node, Value* twin) {
    refined_[node.result()] = twin;
    GraphBuilder b(graph_, &node);
    const InheritMarks marks(graph_, &node, node);
    b.set_source(node.source);
    replaced_.emplace_back(node.result(), b.reshape(twin, node.result()->shape()));
  }

  Graph& graph_;
  AxisRelations relations_;
  llvm::DenseSet<const Node*> matched_;
  llvm::DenseMap<const Value*, Value*> refined_;
  std::vector<std::pair<Value*, Value*>> replaced_;
};

}  // namespace

bool refine_axes(Graph& graph, const RefineAxesOptions&) { return Refiner(graph).run(); }

}  // namespace smelt
