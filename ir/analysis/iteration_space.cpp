#include "ir/analysis/iteration_space.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/analysis/insert_checks.h"
#include "ir/analysis/op_dims.h"
#include "ir/graph/insertion.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {

using ReductionKind = IterationSpace::Reduction;
using Axes = IterationSpace::Axes;

bool IterationSpace::follows(const Axes& dims, AxisKind kind) const {
  return llvm::any_of(dims, [&](int axis) { return axis >= 0 && axes[axis].kind == kind; });
}

int IterationSpace::count(AxisKind kind) const {
  return static_cast<int>(llvm::count_if(axes, [&](const Axis& axis) { return axis.kind == kind; }));
}

namespace {

/// Why a set of nodes is no kernel; caught at the end of this file and nowhere else.
struct Refusal {
  std::string reason;
};

/// Dims that must move together, by union-find over numbered dims. Extents are those of the values' shapes,
/// which outlive the analysis.
class DimClasses {
 public:
  int add(const Dim& extent) {
    parent_.push_back(static_cast<int>(parent_.size()));
    extents_.push_back(&extent);
    return parent_.back();
  }
  int find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void unite(int a, int b) {
    if (a < 0 || b < 0) return;
    a = find(a), b = find(b);
    if (extents_[a] != extents_[b] && *extents_[a] != *extents_[b])
      throw Refusal{"two dims that move together differ in size"};
    parent_[std::max(a, b)] = std::min(a, b);
  }
  const Dim& extent(int i) const { return *extents_[i]; }

 private:
  std::vector<int> parent_;
  std::vector<const Dim*> extents_;
};

class Analysis {
 public:
  /// With `shared`, all uses of one outside value follow the same axes: what ties readers of a value
  /// together. It is wrong where one node reads a value along two axes (x_i x_j), so the caller tries without
  /// it then.
  Analysis(llvm::ArrayRef<const Node*> nodes, llvm::function_ref<bool(const Value*)> is_output, bool shared)
      : nodes_(nodes), is_output_(is_output), shared_(shared) {}

  IterationSpace run() {
    if (std::string reason = refusal_of_inserts(nodes_, is_output_); !reason.empty())
      throw Refusal{std::move(reason)};
    const auto count = static_cast<unsigned>(nodes_.size());
    space_.results.reserve(count), space_.operands.reserve(count), space_.level.reserve(count);
    for (const Node* node : nodes_) number(*node);
    for (const Node* node : nodes_) relate(*node);
    for (const Node* node : nodes_)
      if (node->is(Op::constant) && is_output_(node->result())) tie(*node);
    name_axes();
    choose_roles();
    for (const Node* node : nodes_)
      if (node->is(Op::reduce)) space_.reductions[node] = classify(*node);
    for (const Node* node : nodes_) place(*node);
    for (const Node* node : nodes_) check_outputs(*node);
    return std::move(space_);
  }

 private:
  Axes fresh(const Value* value) {
    Axes dims;
    for (const Dim& extent : value->shape()) dims.push_back(classes_.add(extent));
    return dims;
  }

  Axes outside(const Value* value) {
    if (!shared_) return fresh(value);
    auto [it, is_new] = outside_.try_emplace(value);
    if (is_new) it->second = fresh(value);
    return it->second;
  }

  /// Gives every result dim and every dim of an outside operand a number; inner operands share their
  /// definition's.
  void number(const Node& node) {
    auto& operands = space_.operands[&node];
    for (const Value* operand : node.operands()) {
      auto inner = space_.results.find(operand);
      operands.push_back(inner != space_.results.end() ? inner->second : outside(operand));
    }
    if (node.is(Op::gather)) check_gather(node, operands[0]);
    if (node.is(Op::insert)) return number_insert(node, operands);
    for (const auto& result : node.results()) space_.results[result.get()] = fresh(result.get());
  }

  void check_gather(const Node& node, Axes& table) {
    if (space_.results.contains(node.operand(0))) throw Refusal{"a gather's table must be in memory"};
    table[node.get(attr::axis)] = -1;
  }

  /// Numbers the axes of an insert: the result is stored at the value's position, so it moves along the
  /// value's axes.
  void number_insert(const Node& node, llvm::SmallVector<Axes, 3>& operands) {
    operands[0].assign(operands[0].size(), -1);
    space_.results[node.result()] = operands[1];
  }

  /// Parts of one shape that are put side by side move along the same axes.
  void unite_with_earlier(const Node& insert, const Axes& value) {
    const Node& earlier = *insert.operand(0)->node();
    if (space_.results.contains(insert.operand(0)) &&
        inserted_value(earlier)->shape() == inserted_value(insert)->shape())
      unite_all(space_.results[earlier.result()], value);
  }

  void unite_all(const Axes& a, const Axes& b) {
    for (size_t i = 0; i < a.size(); ++i) classes_.unite(a[i], b[i]);
  }

  /// Dims with one factor move together. Those of a fusable operation have one factor each.
  void relate(const Node& node) {
    if (!info(node.op()).has(Trait::fusable))
      throw Refusal{fmt::format("{} stands in no kernel", node.mnemonic())};
    const OpDims dims = op_dims(node);
    Axes first(dims.factors.size(), -1);
    const auto unite = [&](const DimFactors& factors, const Axes& axes) {
      for (const auto& [dim, axis] : llvm::zip(factors, axes)) {
        int& known = first[dim.front()];
        classes_.unite(known, axis);
        if (known < 0) known = axis;
      }
    };
    for (const auto& [factors, axes] : llvm::zip(dims.operands, space_.operands[&node])) unite(factors, axes);
    for (const auto& [factors, result] : llvm::zip(dims.results, node.results()))
      unite(factors, space_.results[result.get()]);
    if (node.is(Op::insert)) unite_with_earlier(node, space_.operands[&node][1]);
  }

  /// A number that is stored everywhere follows the axes of something else that is stored in its shape.
  void tie(const Node& constant) {
    for (const Node* node : nodes_)
      for (const auto& result : node->results())
        if (!node->is(Op::constant) && is_output_(result.get()) &&
            result->shape() == constant.result()->shape())
          return unite_all(space_.results[result.get()], space_.results[constant.result()]);
  }

  Axes reduced(const Node& node) const {
    Axes dims;
    for (int64_t axis : node.get(attr::axes)) dims.push_back(space_.operands.find(&node)->second[0][axis]);
    llvm::sort(dims);
    return dims;
  }

  /// Replaces dim numbers by axis numbers: the widest value's dims first, in their order, then what is left.
  void name_axes() {
    llvm::DenseMap<int, int> axis_of;
    const auto rename = [&](Axes& dims) {
      for (int& dim : dims) {
        if (dim < 0) continue;
        const int root = classes_.find(dim);
        auto [it, is_new] = axis_of.try_emplace(root, static_cast<int>(space_.axes.size()));
        if (is_new) space_.axes.push_back({classes_.extent(root)});
        dim = it->second;
      }
      for (size_t i = 0; i < dims.size(); ++i)
        for (size_t j = i + 1; j < dims.size(); ++j)
          if (dims[i] >= 0 && dims[i] == dims[j]) throw Refusal{"a value would move along one axis twice"};
    };
    // Renaming makes space_.axes grow in order of first sight, so the widest value goes first, in a copy.
    Axes widest;
    for (const Node* node : nodes_) {
      for (const auto& result : node->results())
        if (const Axes& dims = space_.results[result.get()]; dims.size() > widest.size()) widest = dims;
      for (const Axes& dims : space_.operands[node])
        if (!llvm::is_contained(dims, -1) && dims.size() > widest.size()) widest = dims;
    }
    rename(widest);
    widest_ = widest;
    for (const Node* node : nodes_) {
      for (Axes& dims : space_.operands[node]) rename(dims);
      for (const auto& result : node->results()) rename(space_.results[result.get()]);
    }
    if (space_.axes.size() != widest.size())
      throw Refusal{"no value follows all axes: the shapes are of different kernels"};
  }

  bool is_inside(const Node* node) const { return space_.operands.contains(node); }

  /// A rounding of a sum for memory, which the kernel that finishes the sum does.
  bool is_finish(const Node& node) const {
    return node.is(Op::convert) && node.operand(0)->node()->is(Op::reduce) &&
           is_float(node.result()->dtype()) &&
           llvm::none_of(node.result()->users(), [&](const Node* user) { return is_inside(user); });
  }

  bool used_inside(const Node& node) const {
    return llvm::any_of(node.results(), [&](const auto& result) {
      return llvm::any_of(result->users(),
                          [&](const Node* user) { return is_inside(user) && !is_finish(*user); });
    });
  }

  /// Partial sums of rows are kept as f32, which not all integers are.
  static bool has_partial_sums(const Node& node) {
    return node.reduce_op == ReduceOp::add && is_float(node.result()->dtype());
  }

  /// The columns are what the row reductions reduce; without any, the last axis.
  void choose_roles() {
    if (space_.axes.empty()) return;
    const int last = widest_.back();
    const size_t all = space_.axes.size();
    std::optional<Axes> columns, segment;
    for (const Node* node : nodes_) {
      if (!node->is(Op::reduce)) continue;
      const Axes over = reduced(*node);
      if (over.empty()) throw Refusal{"a reduction over no axis"};
      if (llvm::is_contained(over, last) || !info(node->reduce_op).over_rows) {
        const bool whole = over.size() == all && has_partial_sums(*node) && !used_inside(*node);
        if (whole) continue;
        if (columns && *columns != over) throw Refusal{"reductions over different axes"};
        columns = over;
      }
    }
    for (const Node* node : nodes_)
      if (node->is(Op::reduce) && !columns && needs_segment(*node, last)) {
        if (segment && *segment != reduced(*node)) throw Refusal{"reductions over different axes"};
        segment = reduced(*node);
      }
    for (int axis : columns.value_or(Axes{last})) space_.axes[axis].kind = AxisKind::column;
    for (int axis : segment.value_or(Axes{})) space_.axes[axis].kind = AxisKind::reduced;
    has_rows_ = columns.has_value();
  }

  /// Column reductions that partial sums cannot do: read in the same kernel, not a sum, or keeping some rows.
  bool needs_segment(const Node& node, int last) const {
    const Axes over = reduced(node);
    if (llvm::is_contained(over, last)) return false;
    const Axes& operand = space_.operands.find(&node)->second[0];
    if (!llvm::is_contained(operand, last)) return false;
    return used_inside(node) || !has_partial_sums(node) || over.size() + 1 != space_.axes.size();
  }

  bool all_are(const Axes& dims, AxisKind kind) const {
    return llvm::all_of(dims, [&](int axis) { return space_.axes[axis].kind == kind; });
  }

  bool has_columns(const Axes& dims) const {
    return llvm::count_if(dims, [&](int axis) { return space_.axes[axis].kind == AxisKind::column; }) ==
           space_.count(AxisKind::column);
  }

  ReductionKind classify(const Node& node) const {
    const Axes over = reduced(node);
    const Axes& operand = space_.operands.find(&node)->second[0];
    const auto count = [&](AxisKind kind) { return static_cast<size_t>(space_.count(kind)); };
    if (all_are(over, AxisKind::reduced)) {
      if (count(AxisKind::reduced) != over.size()) throw Refusal{"reductions over different axes"};
      if (!info(node.reduce_op).over_rows)
        throw Refusal{fmt::format("no column reduction by {}", name(node.reduce_op))};
      if (!has_columns(operand)) throw Refusal{"a column reduction of a value without columns"};
      return ReductionKind::segment;
    }
    if (count(AxisKind::reduced) != 0) throw Refusal{"a row and a segment reduction in one kernel"};
    if (all_are(over, AxisKind::column) && has_rows_) {
      if (over.size() != count(AxisKind::column)) throw Refusal{"a reduction over some of the columns"};
      return info(node.reduce_op).samples ? ReductionKind::first : ReductionKind::row;
    }
    return classify_partial(node, over, operand);
  }

  ReductionKind classify_partial(const Node& node, const Axes& over, const Axes& operand) const {
    if (!has_partial_sums(node)) throw Refusal{fmt::format("{} over the rows", name(node.reduce_op))};
    if (used_inside(node)) throw Refusal{"a sum over the rows is known only after the kernel"};
    const auto parallel = static_cast<size_t>(space_.count(AxisKind::parallel));
    const size_t rows =
        llvm::count_if(over, [&](int axis) { return space_.axes[axis].kind == AxisKind::parallel; });
    if (rows != parallel) throw Refusal{"a sum over some of the rows"};
    const size_t columns =
        over.size() - rows;  // each element must come once: a lane for those that do not move it
    const bool whole = columns == 0 || columns == static_cast<size_t>(space_.count(AxisKind::column));
    if (over.size() == operand.size() && whole) return ReductionKind::full;
    if (columns != 0) throw Refusal{"a sum over the rows and some of the columns"};
    return ReductionKind::column;
  }

  /// The level of a node: one more than that of any row reduction it reads.
  void place(const Node& node) {
    int level = 0;
    for (const Value* operand : node.operands()) {
      auto it = space_.level.find(operand->node());
      if (it == space_.level.end()) continue;
      const auto reduction = space_.reductions.find(operand->node());
      const bool later =
          reduction != space_.reductions.end() &&
          (reduction->second == ReductionKind::row || reduction->second == ReductionKind::segment);
      level = std::max(level, it->second + (later ? 1 : 0));
    }
    if (node.is(Op::reduce) && space_.reductions[&node] == ReductionKind::segment && level > 0)
      throw Refusal{"a column reduction of a column reduction"};
    space_.level[&node] = level;
    space_.levels = std::max(space_.levels, level + 1);
  }

  /// Checks the outputs: a stored value follows all rows (else every row would store it) and no reduced axis.
  void check_outputs(const Node& node) {
    for (const auto& result : node.results()) {
      if (!is_output_(result.get())) continue;
      const auto reduction = space_.reductions.find(is_finish(node) ? node.operand(0)->node() : &node);
      if (reduction != space_.reductions.end() &&
          (reduction->second == ReductionKind::column || reduction->second == ReductionKind::full))
        continue;
      const Axes& dims = space_.results[result.get()];
      const auto follow = [&](AxisKind kind) {
        return llvm::count_if(dims, [&](int axis) { return space_.axes[axis].kind == kind; });
      };
      if (follow(AxisKind::reduced) != 0) throw Refusal{"a result along a reduced axis"};
      if (follow(AxisKind::parallel) != space_.count(AxisKind::parallel))
        throw Refusal{"a result that does not follow all rows"};
      const auto columns = follow(AxisKind::column);
      if (columns != 0 && columns != space_.count(AxisKind::column))
        throw Refusal{"a result along some of the columns"};
    }
  }

  llvm::ArrayRef<const Node*> nodes_;
  llvm::function_ref<bool(const Value*)> is_output_;
  IterationSpace space_;
  DimClasses classes_;
  llvm::DenseMap<const Value*, Axes> outside_;
  Axes widest_;
  bool shared_, has_rows_ = false;
};

}  // namespace

IterationSpaceResult iteration_space(llvm::ArrayRef<const Node*> nodes,
                                     llvm::function_ref<bool(const Value*)> is_output) {
  std::string reason;
  for (bool shared : {true, false}) {
    try {
      return {Analysis(nodes, is_output, shared).run(), ""};
    } catch (const Refusal& refusal) {
      if (shared) reason = refusal.reason;
    }
  }
  return {std::nullopt, reason};
}

IterationSpaceResult iteration_space(const Graph& body) {
  std::vector<const Node*> nodes;
  for (const auto& node : body.nodes())
    if (!node->is(Op::input)) nodes.push_back(node.get());
  return iteration_space(nodes, [&](const Value* value) { return body.is_output(value); });
}

}  // namespace smelt
