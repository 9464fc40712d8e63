#include "ir/analysis/attention_form.h"
#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/graph/precision/precision_passes.h"

namespace smelt {
namespace {

/// Codes [b,s,g,d] and their scales [b,s,g].
struct Codes {
  Value *codes, *scales;
};

bool is_conversion(const Node& node) { return node.is(Op::convert) && node.operands().size() == 1; }

bool is_code(DType dtype) { return dtype == DType::i8 || dtype == DType::f8e4m3; }

/// Returns the value before a conversion to a float that has all of its numbers; else `value` itself.
Value* before_widening(Value* value) {
  const Node& node = *value->node();
  const bool widens = is_conversion(node) && is_float(node.result()->dtype()) &&
                      size_of(node.operand(0)->dtype()) < size_of(node.result()->dtype());
  return widens ? node.operand(0) : value;
}

/// Returns the scales if the value repeats them along the width.
Value* repeated_scales(Value* value) {
  const Node& node = *before_widening(value)->node();
  if (!node.is(Op::broadcast) || node.get(attr::axes) != std::vector<int64_t>{0, 1, 2}) return nullptr;
  return before_widening(node.operand(0));
}

/// Matches convert(mul(convert(codes), broadcast(scales))).
std::optional<Codes> codes_of(Value* operand) {
  const Node& last = *operand->node();
  const Node& product = is_conversion(last) ? *last.operand(0)->node() : last;
  if (!product.is(ScalarOp::mul)) return std::nullopt;
  for (const unsigned i : {0u, 1u}) {
    Value *codes = before_widening(product.operand(i)), *scales = repeated_scales(product.operand(1 - i));
    if (scales && is_code(codes->dtype())) return Codes{codes, scales};
  }
  return std::nullopt;
}

bool read_codes(Graph& graph, Node& attention) {
  const auto own = own_operands(attention);
  if (own.size() != 3 || attention.result_count() > 2) return false;
  const auto keys = codes_of(own[1]), values = codes_of(own[2]);
  if (!keys || !values || keys->codes->dtype() != values->codes->dtype()) return false;
  llvm::SmallVector<Value*, 8> operands = {own[0], keys->codes, values->codes, keys->scales, values->scales};
  llvm::append_range(operands, attention.operands().drop_front(own.size()));
  Node* twin = graph.clone(attention, operands, &attention);
  for (unsigned i = 0; i < twin->result_count(); ++i)
    graph.replace_all_uses(attention.result(i), twin->result(i));
  graph.erase(&attention);
  return true;
}

}  // namespace

bool read_codes(Graph& graph, const ReadCodesOptions&) {
  bool changed = false;
  for (Node* attention : nodes_of(graph, Op::attention)) changed |= read_codes(graph, *attention);
  if (changed) graph.prune();
  return changed;
}

}  // namespace smelt
