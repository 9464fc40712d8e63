// Rules for gather.
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/simplify/simplify_rules.h"

namespace smelt {
namespace {

/// Indices that are places along an axis, from a number on: begin + iota.
struct Places {
  int64_t axis;  // of the indices
  int64_t begin;
};

std::optional<Places> places_of(const Value* indices) {
  const Node& node = *indices->node();
  if (node.is(Op::iota)) return Places{node.get(attr::axis), 0};
  if (node.is(Op::broadcast)) {
    auto places = places_of(node.operand(0));
    if (places) places->axis = node.get(attr::axes)[places->axis];
    return places;
  }
  if (!node.is(ScalarOp::add)) return std::nullopt;
  const auto more = number_of(node.operand(1));
  auto places = more ? places_of(node.operand(0)) : std::nullopt;
  if (places) places->begin += static_cast<int64_t>(*more);
  return places;
}

/// Returns whether the table is certain to have these rows.
bool has_rows(const Module& module, const Dim& rows, int64_t begin, const Dim& length) {
  if (begin < 0) return false;
  if (begin == 0 && rows == length) return true;
  return rows.constant() && module.symbols.upper(length + begin) <= *rows.constant();
}

/// Rows that follow each other are a slice.
Value* gather_of_places(GraphBuilder& b, const Node& node) {
  Value *table = node.operand(0), *indices = node.operand(1);
  const auto places = places_of(indices);
  const int64_t axis = node.get(attr::axis);
  if (!places) return nullptr;
  const Dim& length = indices->shape()[places->axis];
  if (!has_rows(b.module(), table->shape()[axis], places->begin, length)) return nullptr;
  Value* rows = b.slice(table, axis, places->begin, length);
  std::vector<int64_t> axes;  // of the rows in the result
  for (int64_t i = 0; i < table->rank(); ++i)
    axes.push_back(i < axis ? i : i == axis ? axis + places->axis : i + indices->rank() - 1);
  return b.broadcast(rows, std::move(axes), node.result()->shape());
}

/// One row for all indices.
Value* gather_of_number(GraphBuilder& b, const Node& node) {
  Value *table = node.operand(0), *indices = node.operand(1);
  const auto number = number_of(indices);
  const int64_t axis = node.get(attr::axis);
  if (!number || !has_rows(b.module(), table->shape()[axis], static_cast<int64_t>(*number), 1))
    return nullptr;
  Shape shape = table->shape();
  shape.erase(shape.begin() + axis);
  Value* row = b.reshape(b.slice(table, axis, static_cast<int64_t>(*number), 1), shape);
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < row->rank(); ++i) axes.push_back(i < axis ? i : i + indices->rank());
  return b.broadcast(row, std::move(axes), node.result()->shape());
}

constexpr SimplifyRule kGatherRules[] = {gather_of_places, gather_of_number};

}  // namespace

llvm::ArrayRef<SimplifyRule> gather_rules() { return kGatherRules; }

}  // namespace smelt
