#include "passes/graph/layout/row_region.h"

#include <algorithm>

#include "ir/analysis/uses.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"

namespace smelt {
namespace {

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

Dim leading_elements(const Shape& shape, int64_t axes) {
  return element_count(Shape(shape.begin(), shape.begin() + axes));
}
Shape trailing(const Shape& shape, int64_t axes) { return Shape(shape.begin() + axes, shape.end()); }

/// Returns whether the axes are first, first + 1, ..., end - 1, in any order.
bool are_axes(std::vector<int64_t> axes, int64_t first, int64_t end) {
  std::sort(axes.begin(), axes.end());
  if (static_cast<int64_t>(axes.size()) != end - first) return false;
  return llvm::all_of(axes, [&](int64_t axis) { return axis == first++; });
}

/// The letters of one operand alone that lead it and the result, where letters of the other operand alone
/// follow; empty where it is not so.
std::string leading_rows(const MatmulSpec& spec) {
  if (spec.out.empty()) return "";
  const bool first = has(spec.a, spec.out[0]);
  const std::string &from = first ? spec.a : spec.b, &other = first ? spec.b : spec.a;
  const std::string rows = spec.out.substr(0, spec.out.find_first_of(other));
  const std::string columns = spec.out.substr(rows.size());
  const bool apart = columns.find_first_of(from) == std::string::npos;
  return !columns.empty() && apart && from.starts_with(rows) ? rows : "";
}

class RegionFinder {
 public:
  RegionFinder(const Graph& graph, Node& seed) : graph_(graph), seed_(seed) {}

  std::optional<RowRegion> run() {
    if (!start() || !grow() || !reduces_columns_) return std::nullopt;
    return std::move(region_);
  }

 private:
  using Role = std::optional<RowRole>;

  bool start() {
    const Value* result = seed_.result();
    if (seed_.body || !in_forward(seed_) || !is_float(result->dtype()) || graph_.is_output(result))
      return false;
    const std::string rows = leading_rows(parse_matmul_spec(seed_.get(attr::spec)));
    const auto axes = static_cast<int64_t>(rows.size());
    region_.rows = leading_elements(result->shape(), axes);
    region_.columns = trailing(result->shape(), axes);
    region_.members.push_back({&seed_, RowRole::seed});
    region_.row_axes[result] = axes;
    return axes > 0 && llvm::all_of(region_.columns, [](const Dim& dim) { return dim.is_constant(); });
  }

  /// Adds nodes in program order while it can. Returns false if another node reads columns and cannot join.
  bool grow() {
    for (Node* node = graph_.next(&seed_); node; node = graph_.next(node)) {
      const bool late = llvm::any_of(node->operands(), [&](const Value* v) { return late_.contains(v); });
      const bool reads = llvm::any_of(node->operands(), [&](const Value* v) { return region_.has(v); });
      if (!late && !reads) continue;
      if (const Role role = late ? std::nullopt : role_of(*node)) {
        if (!join(*node, *role)) return false;
      } else {
        if (llvm::any_of(node->operands(), [&](const Value* v) { return region_.has_columns(v); }))
          return false;
        region_.behind.push_back(node);
        put_behind(*node);
      }
    }
    return true;
  }

  void put_behind(const Node& node) {
    for (const auto& result : node.results()) late_.insert(result.get());
  }

  bool join(Node& node, RowRole role) {
    region_.members.push_back({&node, role});
    if (role != RowRole::rowwise) return put_behind(node), true;
    reduces_columns_ |= node.is(Op::reduce);
    const int64_t axes = row_axes_after(node);
    for (const auto& result : node.results()) {
      region_.row_axes[result.get()] = axes;
      if (region_.has_columns(result.get()) && graph_.is_output(result.get())) return false;
    }
    return true;
  }

  int64_t row_axes_after(const Node& node) const {
    const int64_t axes = row_axes_of_operands(node);
    if (!node.is(Op::reshape)) return axes;
    return axes + node.result()->rank() - node.operand(0)->rank();
  }
  int64_t row_axes_of_operands(const Node& node) const {
    for (const Value* operand : node.operands())
      if (region_.has(operand)) return axes_of(operand);
    return 0;
  }
  int64_t axes_of(const Value* value) const { return region_.row_axes.lookup(value); }

  Role role_of(const Node& node) {
    switch (node.op()) {
      case Op::pointwise:
      case Op::convert:
        return role_of_pointwise(node);
      case Op::broadcast:
        return role_of_broadcast(node);
      case Op::reshape:
        return role_of_reshape(node);
      case Op::reduce:
        return role_of_reduce(node);
      case Op::matmul:
        return role_of_matmul(node);
      default:
        return std::nullopt;
    }
  }

  Role role_of_pointwise(const Node& node) {
    const int64_t axes = row_axes_of_operands(node);
    const bool fits = llvm::all_of(node.operands(), [&](const Value* operand) {
      return region_.has(operand) ? axes_of(operand) == axes : comes_in_rows(operand, axes);
    });
    return fits ? Role(RowRole::rowwise) : std::nullopt;
  }

  /// Returns whether chunks of an outside value can be made.
  bool comes_in_rows(const Value* value, int64_t axes) {
    const RowSource source = row_source(value, axes);
    if (source != RowSource::computed) return source != RowSource::none;
    if (const auto known = come_in_rows_.find({value, axes}); known != come_in_rows_.end())
      return known->second;
    const bool all = llvm::all_of(value->node()->operands(),
                                  [&](const Value* operand) { return comes_in_rows(operand, axes); });
    return come_in_rows_[{value, axes}] = all;
  }

  /// Returns the role of a broadcast of a row value along the columns.
  Role role_of_broadcast(const Node& node) const {
    const Value &row = *node.operand(0), &to = *node.result();
    const int64_t axes = axes_of(&row);
    const bool fits = axes == row.rank() && are_axes(node.get(attr::axes), 0, axes) &&
                      trailing(to.shape(), axes) == region_.columns;
    return fits ? Role(RowRole::rowwise) : std::nullopt;
  }

  /// Returns the role of a reshape of rows to other rows: [B,T,V] to [B*T,V].
  Role role_of_reshape(const Node& node) const {
    const Shape &from = node.operand(0)->shape(), &to = node.result()->shape();
    const int64_t axes = row_axes_after(node);
    if (axes < 1 || leading_elements(to, axes) != region_.rows) return std::nullopt;
    return trailing(to, axes) == trailing(from, axes_of(node.operand(0))) ? Role(RowRole::rowwise)
                                                                          : std::nullopt;
  }

  Role role_of_reduce(const Node& node) const {
    const Value* from = node.operand(0);
    if (!region_.has_columns(from)) return std::nullopt;
    const auto& reduced = node.get(attr::axes);
    const int64_t axes = axes_of(from);
    if (are_axes(reduced, axes, from->rank())) return RowRole::rowwise;
    const bool all_rows = are_axes(reduced, 0, axes) || are_axes(reduced, 0, from->rank());
    return node.is(ReduceOp::add) && all_rows ? Role(RowRole::sum) : std::nullopt;
  }

  Role role_of_matmul(const Node& node) const {
    if (node.body || !is_float(node.result()->dtype())) return std::nullopt;
    const Value* wide = region_.has(node.operand(0)) ? node.operand(0) : node.operand(1);
    const std::string rows = row_letters(node, wide, axes_of(wide));
    const MatmulSpec spec = parse_matmul_spec(node.get(attr::spec));
    const std::string& other = wide == node.operand(0) ? spec.b : spec.a;
    const auto in = [&](const std::string& letters) {
      return llvm::any_of(rows, [&](char row) { return smelt::has(letters, row); });
    };
    const bool alone = !region_.has(node.operand(0)) || !region_.has(node.operand(1));
    if (spec.out.starts_with(rows) && !in(other) && alone) return RowRole::product;
    const bool summed = !in(spec.out) && other.starts_with(rows);
    const bool alike = alone || axes_of(node.operand(0)) == axes_of(node.operand(1));
    return summed && alike ? Role(RowRole::sum) : std::nullopt;
  }

  const Graph& graph_;
  Node& seed_;
  RowRegion region_;
  llvm::DenseSet<const Value*> late_;  // made of products, sums, or row values that have left the region
  llvm::DenseMap<std::pair<const Value*, int64_t>, bool> come_in_rows_;
  bool reduces_columns_ = false;
};

}  // namespace

std::optional<RowRegion> find_row_region(const Graph& graph, Node& matmul) {
  return RegionFinder(graph, matmul).run();
}

std::vector<Value*> row_outputs(const Graph& graph, const RowRegion& region) {
  llvm::DenseSet<const Node*> members;
  for (const RowRegion::Member& member : region.members) members.insert(member.node);
  std::vector<Value*> outputs;
  for (const RowRegion::Member& member : region.members)
    for (const auto& result : member.node->results()) {
      const bool read =
          llvm::any_of(result->users(), [&](const Node* user) { return !members.contains(user); });
      if (region.has(result.get()) && (read || graph.is_output(result.get())))
        outputs.push_back(result.get());
    }
  return outputs;
}

std::string row_letters(const Node& matmul, const Value* value, int64_t row_axes) {
  const MatmulSpec spec = parse_matmul_spec(matmul.get(attr::spec));
  return (value == matmul.operand(0) ? spec.a : spec.b).substr(0, static_cast<size_t>(row_axes));
}

std::string flat_spec(const Node& matmul, const std::string& rows) {
  MatmulSpec spec = parse_matmul_spec(matmul.get(attr::spec));
  for (std::string* letters : {&spec.a, &spec.b, &spec.out})
    if (letters->starts_with(rows)) letters->erase(0, rows.size() - 1);
  return spec.str();
}

RowSource row_source(const Value* value, int64_t row_axes) {
  const Node& node = *value->node();
  if (splat(value)) return RowSource::repeated;
  if (node.is(Op::broadcast)) {
    const auto& axes = node.get(attr::axes);
    const auto of_rows = llvm::count_if(axes, [&](int64_t axis) { return axis < row_axes; });
    const bool columns_alone = of_rows == 0;
    const bool rows_alone = of_rows == static_cast<int64_t>(axes.size()) && row_axes < value->rank();
    if (columns_alone || rows_alone) return RowSource::repeated;
  }
  if (node.is(Op::pointwise) || node.is(Op::convert)) return RowSource::computed;
  const bool leaf = node.is(Op::input) || node.is(Op::state) || node.is(Op::parameter);
  if (row_axes == value->rank() || leaf) return RowSource::in_memory;
  return node.is(Op::iota) && node.get(attr::axis) >= row_axes ? RowSource::column : RowSource::none;
}

}  // namespace smelt
