// Rules for insert.
#include "ir/graph/insertion.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/simplify/simplify_rules.h"

namespace smelt {
namespace {

/// Parts of a value along an axis.
struct Parts {
  llvm::SmallVector<Value*, 3> values;
  int64_t axis = 0;
};

/// Returns the parts of a concat, perhaps through conversions and transpositions, which are then applied to
/// each part.
std::optional<Parts> parts_of(GraphBuilder& b, const Value& value) {
  const Node& node = *value.node();
  if (node.is(Op::concat))
    return Parts{{node.operands().begin(), node.operands().end()}, node.get(attr::axis)};
  if (!node.is(Op::transpose) && !(node.is(Op::convert) && node.operands().size() == 1)) return std::nullopt;
  std::optional<Parts> parts = parts_of(b, *node.operand(0));
  if (!parts) return std::nullopt;
  if (node.is(Op::convert)) {
    for (Value*& part : parts->values) part = b.convert(part, value.dtype());
    return parts;
  }
  const auto& permutation = node.get(attr::permutation);
  for (Value*& part : parts->values) part = b.transpose(part, permutation);
  parts->axis = llvm::find(permutation, parts->axis) - permutation.begin();
  return parts;
}

/// The parts of a concat go where they belong one by one, so that what makes them can write them there.
Value* insert_of_concat(GraphBuilder& b, const Node& node) {
  const auto indexed = indexed_axes(node);
  std::optional<Parts> parts = parts_of(b, *inserted_value(node));
  const auto moves = [&](const IndexedAxis& along) { return along.axis == parts->axis; };
  const auto has_axis = [&](const IndexedAxis& along) { return along.index->rank() > parts->axis; };
  if (!parts || llvm::any_of(indexed, moves) || llvm::any_of(indexed, has_axis)) return nullptr;
  constexpr size_t kMostIndices = 3;
  Value* result = node.operand(0);
  Dim begin = 0;
  for (Value* part : parts->values) {
    const auto at = begin.constant();
    if (!at || indexed.size() == kMostIndices) return nullptr;
    llvm::SmallVector<Value*, 3> indices;
    std::vector<int64_t> axes;
    for (const IndexedAxis& along : indexed) indices.push_back(along.index), axes.push_back(along.axis);
    indices.push_back(b.scalar(static_cast<double>(*at), DType::i32)), axes.push_back(parts->axis);
    result = b.insert(result, part, indices, std::move(axes));
    begin += part->shape()[parts->axis];
  }
  return result;
}

constexpr SimplifyRule kInsertRules[] = {insert_of_concat};

}  // namespace

llvm::ArrayRef<SimplifyRule> insert_rules() { return kInsertRules; }

}  // namespace smelt
