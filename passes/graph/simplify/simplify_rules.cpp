#include "passes/graph/simplify/simplify_rules.h"

#include <cmath>

#include "ir/analysis/integer_ranges.h"
#include "ir/evaluate/rounding.h"
#include "ir/evaluate/whole_numbers.h"
#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// A number stays one through anything that only moves elements.
Value* moved_number(GraphBuilder& b, const Node& node) {
  const auto number = number_of(node.operand(0));
  return number ? b.constant(*number, node.result()->type) : nullptr;
}

// ---- convert

Value* same_type(GraphBuilder&, const Node& node) {
  return node.result()->type == node.operand(0)->type ? node.operand(0) : nullptr;
}

/// Every value of `narrow` is one of `wide`.
bool widens(DType narrow, DType wide) {
  if (wide == DType::f64) return is_float(narrow) || narrow == DType::i32;
  return wide == DType::f32 && (narrow == DType::bf16 || narrow == DType::f16);
}

Value* convert_of_convert(GraphBuilder& b, const Node& node) {
  const Node* inner = node.operand(0)->node();
  if (!inner->is(Op::convert) || !widens(inner->operand(0)->dtype(), inner->result()->dtype()))
    return nullptr;
  return b.convert(inner->operand(0), node.result()->dtype());
}

/// Numbers are kept in double and rounded where they are used, but for those of 16 bits, which another
/// conversion may read. Conversions that may truncate stay.
Value* converted_number(GraphBuilder& b, const Node& node) {
  const auto number = number_of(node.operand(0));
  const DType from = node.operand(0)->dtype(), to = node.result()->dtype();
  if (!number || (!is_float(to) && *number != std::trunc(*number))) return nullptr;
  const bool narrows = is_float(to) && size_of(to) < size_of(DType::f32);
  if (narrows && round_to(to, *number) != *number) return nullptr;
  if (is_float(to) || to == DType::boolean) return b.constant(*number, node.result()->type);
  const int64_t whole = converted_to_integer(from, to, *number);
  return is_double(whole) ? b.constant(static_cast<double>(whole), node.result()->type) : nullptr;
}

// ---- broadcast, reshape, transpose

Value* broadcast_to_itself(GraphBuilder&, const Node& node) {
  return node.operand(0)->shape() == node.result()->shape() ? node.operand(0) : nullptr;
}

Value* broadcast_of_broadcast(GraphBuilder& b, const Node& node) {
  const Node* inner = node.operand(0)->node();
  if (!inner->is(Op::broadcast)) return nullptr;
  const auto& outer = node.get(attr::axes);
  std::vector<int64_t> axes;
  for (int64_t axis : inner->get(attr::axes)) axes.push_back(outer[axis]);
  return b.broadcast(inner->operand(0), axes, node.result()->shape());
}

Value* reshape_chain(GraphBuilder& b, const Node& node) {
  if (node.operand(0)->shape() == node.result()->shape()) return node.operand(0);
  const Node* inner = node.operand(0)->node();
  if (!inner->is(Op::reshape)) return nullptr;
  return b.reshape(inner->operand(0), node.result()->shape());
}

Value* transpose_chain(GraphBuilder& b, const Node& node) {
  const auto& outer = node.get(attr::permutation);
  if (llvm::is_sorted(outer)) return node.operand(0);
  const Node* inner = node.operand(0)->node();
  if (!inner->is(Op::transpose)) return nullptr;
  std::vector<int64_t> permutation;
  for (int64_t axis : outer) permutation.push_back(inner->get(attr::permutation)[axis]);
  return b.transpose(inner->operand(0), permutation);
}

/// Returns the letters of a transposed operand, in their order before it.
std::string letters_before(const Node& transpose, const std::string& letters) {
  std::string before = letters;
  const auto& permutation = transpose.get(attr::permutation);
  for (size_t i = 0; i < permutation.size(); ++i) before[permutation[i]] = letters[i];
  return before;
}

Value* matmul_of_transpose(GraphBuilder& b, const Node& node) {
  if (node.body) return nullptr;
  MatmulSpec spec = parse_matmul_spec(node.get(attr::spec));
  Value* operands[2] = {node.operand(0), node.operand(1)};
  std::string* letters[2] = {&spec.a, &spec.b};
  bool found = false;
  for (int i : {0, 1}) {
    const Node* maker = operands[i]->node();
    if (!maker->is(Op::transpose)) continue;
    *letters[i] = letters_before(*maker, *letters[i]);
    operands[i] = maker->operand(0);
    found = true;
  }
  return found ? b.matmul(operands[0], operands[1], spec.str()) : nullptr;
}

Value* transpose_of_matmul(GraphBuilder& b, const Node& node) {
  const Node* matmul = node.operand(0)->node();
  if (!matmul->is(Op::matmul) || matmul->body || !has_one_use(*node.operand(0))) return nullptr;
  MatmulSpec spec = parse_matmul_spec(matmul->get(attr::spec));
  std::string out;
  for (int64_t axis : node.get(attr::permutation)) out += spec.out[axis];
  spec.out = out;
  return b.matmul(matmul->operand(0), matmul->operand(1), spec.str());
}

// ---- reduce

Value* empty_reduce(GraphBuilder&, const Node& node) {
  return node.result_count() == 1 && node.get(attr::axes).empty() ? node.operand(0) : nullptr;
}

/// Elements that one result of the reduction sums, where that is a number.
const std::optional<double> count_along(const Value* value, llvm::ArrayRef<int64_t> axes) {
  double count = 1;
  for (int64_t axis : axes) {
    const auto extent = value->shape()[axis].constant();
    if (!extent) return std::nullopt;
    count *= static_cast<double>(*extent);
  }
  return count;
}

/// Returns whether some of these dims may be 0: the reduction is then its identity.
bool may_be_empty(const Value& value, llvm::ArrayRef<int64_t> axes) {
  const Symbols& symbols = value.node()->graph().module().symbols;
  return llvm::any_of(
      axes, [&](int64_t axis) { return !is_never_zero(value.shape()[static_cast<size_t>(axis)], symbols); });
}

Value* reduce_of_number(GraphBuilder& b, const Node& node) {
  const auto number = number_of(node.operand(0));
  if (!number || may_be_empty(*node.operand(0), node.get(attr::axes))) return nullptr;
  if (info(node.reduce_op).idempotent || info(node.reduce_op).samples)
    return b.constant(*number, node.result()->type);
  const auto count = count_along(node.operand(0), node.get(attr::axes));
  if (!node.is(ReduceOp::add) || !count) return nullptr;
  if (is_float(node.result()->dtype())) return b.constant(*number * *count, node.result()->type);
  const auto whole = whole_result(ScalarOp::mul, node.result()->dtype(), {*number, *count, 0});
  return is_double(*whole) ? b.constant(static_cast<double>(*whole), node.result()->type) : nullptr;
}

/// A reduction over axes along which its operand repeats itself: those axes only scale a sum.
Value* reduce_of_broadcast(GraphBuilder& b, const Node& node) {
  const Node* broadcast = node.operand(0)->node();
  const bool add = node.is(ReduceOp::add);
  const bool idempotent = node.is(Op::reduce) && info(node.reduce_op).idempotent;
  if (!broadcast->is(Op::broadcast) || (!add && !idempotent)) return nullptr;
  const auto &kept = broadcast->get(attr::axes), &reduced = node.get(attr::axes);
  std::vector<int64_t> repeated, inner;
  for (int64_t axis : reduced)
    if (!llvm::is_contained(kept, axis)) repeated.push_back(axis);
  if (repeated.empty() || may_be_empty(*node.operand(0), repeated)) return nullptr;
  const auto count = count_along(node.operand(0), repeated);
  if (add && !count) return nullptr;

  std::vector<int64_t> axes;  // of what is left of the broadcast
  for (size_t i = 0; i < kept.size(); ++i) {
    if (llvm::is_contained(reduced, kept[i]))
      inner.push_back(static_cast<int64_t>(i));
    else
      axes.push_back(kept[i] - llvm::count_if(reduced, [&](int64_t axis) { return axis < kept[i]; }));
  }
  Value* value = broadcast->operand(0);
  if (!inner.empty()) value = b.reduce(node.reduce_op, value, inner);
  if (add) value = b.mul(value, b.like(value, *count));
  return b.broadcast(value, axes, node.result()->shape());
}

Value* sum_of_sum(GraphBuilder& b, const Node& node) {
  const Node* inner = node.operand(0)->node();
  if (!node.is(ReduceOp::add) || !inner->is(ReduceOp::add) || !has_one_use(*node.operand(0))) return nullptr;
  const auto &first = inner->get(attr::axes), &second = node.get(attr::axes);
  std::vector<int64_t> axes, left;
  for (int64_t axis = 0; axis < inner->operand(0)->rank(); ++axis)
    if (!llvm::is_contained(first, axis)) left.push_back(axis);
  axes = first;
  for (int64_t axis : second) axes.push_back(left[axis]);
  llvm::sort(axes);
  return b.sum(inner->operand(0), axes);
}

/// sum(-x) = -sum x and sum(c x) = c sum x: fewer operations, one rounding less an element.
Value* sum_of_multiple(GraphBuilder& b, const Node& node) {
  const Node* inner = node.operand(0)->node();
  if (!node.is(ReduceOp::add) || !is_float(node.result()->dtype()) || !has_one_use(*node.operand(0)))
    return nullptr;
  if (inner->is(ScalarOp::neg)) return b.neg(b.sum(inner->operand(0), node.get(attr::axes)));
  if (!inner->is(ScalarOp::mul)) return nullptr;
  const auto factor = number_of(inner->operand(1));
  if (!factor) return nullptr;
  Value* sum = b.sum(inner->operand(0), node.get(attr::axes));
  return b.mul(sum, b.like(sum, *factor));
}

// ---- the table

constexpr SimplifyRule kConvert[] = {same_type, convert_of_convert, converted_number};
constexpr SimplifyRule kBroadcast[] = {broadcast_to_itself, moved_number, broadcast_of_broadcast};
constexpr SimplifyRule kReshape[] = {reshape_chain, moved_number};
constexpr SimplifyRule kTranspose[] = {moved_number, transpose_chain, transpose_of_matmul};
constexpr SimplifyRule kReduce[] = {empty_reduce, reduce_of_number, reduce_of_broadcast, sum_of_sum,
                                    sum_of_multiple};
constexpr SimplifyRule kMatmul[] = {matmul_of_transpose};
constexpr SimplifyRule kStop[] = {moved_number};

}  // namespace

std::optional<double> number_of(const Value* value) {
  const Node& node = *value->node();
  if (!node.is(Op::constant) || !node.has(attr::value)) return std::nullopt;
  return node.get(attr::value);
}

llvm::ArrayRef<SimplifyRule> simplify_rules(Op op) {
  switch (op) {
    case Op::pointwise:
      return pointwise_rules();
    case Op::convert:
      return kConvert;
    case Op::broadcast:
      return kBroadcast;
    case Op::reshape:
      return kReshape;
    case Op::transpose:
      return kTranspose;
    case Op::slice:
      return slice_rules();
    case Op::concat:
      return concat_rules();
    case Op::insert:
      return insert_rules();
    case Op::gather:
      return gather_rules();
    case Op::reduce:
      return kReduce;
    case Op::matmul:
      return kMatmul;
    case Op::stop_gradient:
      return kStop;
    default:
      return {};
  }
}

}  // namespace smelt
