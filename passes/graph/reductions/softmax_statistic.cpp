#include "passes/graph/reductions/softmax_statistic.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// Calls `visit` for all users but those without a result, such as the update of a state.
void visit_users(Value* value, llvm::function_ref<void(Node&)> visit) {
  const llvm::SmallVector<Node*, 8> users(value->users().begin(), value->users().end());
  for (Node* user : users)
    if (user->result_count() > 0) visit(*user);
}

/// Is it a broadcast of s, or of 1 / s?
bool spreads(const Value* value, const RowSpace& space, const Value* s, bool inverse) {
  const Node* row = row_broadcast(value, space);
  if (!row) return false;
  const Value* inner = row->operand(0);
  if (!inverse) return inner == s;
  const Node& node = *inner->node();
  if (node.is(ScalarOp::reciprocal)) return node.operand(0) == s;
  return node.is(ScalarOp::div) && splat(node.operand(0)) == 1 && node.operand(1) == s;
}

bool is_probability(const Node& node, const Value* e, const Softmax& softmax) {
  const Value* s = softmax.pair->result(1);
  if (node.is(ScalarOp::div))
    return node.operand(0) == e && spreads(node.operand(1), softmax.space, s, false);
  if (!node.is(ScalarOp::mul)) return false;
  for (unsigned i = 0; i < 2; ++i)
    if (node.operand(i) == e && spreads(node.operand(1 - i), softmax.space, s, true)) return true;
  return false;
}

}  // namespace

Softmax find_softmax(Node& pair) {
  Softmax softmax{&pair, row_space(pair), {}, {}};
  Value* x = pair.operand(0);
  visit_users(pair.result(0), [&](Node& row) {
    if (!row_broadcast(row.result(), softmax.space)) return;
    visit_users(row.result(), [&](Node& difference) {
      if (!difference.is(ScalarOp::sub) || difference.operand(0) != x) return;
      visit_users(difference.result(), [&](Node& e) {
        if (!e.is(ScalarOp::exp)) return;
        softmax.parts.insert(softmax.parts.end(), {&row, &difference, &e});
        visit_users(e.result(), [&](Node& user) {
          if (is_probability(user, e.result(), softmax)) softmax.probabilities.push_back(&user);
        });
      });
    });
  });
  return softmax;
}

Value* probability_from_statistics(RowEmitter& emit, const Softmax& softmax, Node& place) {
  Value *x = softmax.pair->operand(0), *most = softmax.pair->result(0);
  emit.at(softmax.pair);
  Value* log = emit.pointwise(ScalarOp::log, {softmax.pair->result(1)});
  emit.at(&place);
  emit.anchor(true);
  Value* below = emit.sub(x, emit.along(most, softmax.space));
  Value* q = emit.pointwise(ScalarOp::exp, {emit.sub(below, emit.along(log, softmax.space))});
  emit.anchor(false);
  return q;
}

bool used_otherwise(const Softmax& softmax) {
  const auto expected = [&](const Node& user) {
    return !in_backward(user) || llvm::is_contained(softmax.parts, &user) ||
           llvm::is_contained(softmax.probabilities, &user) || user.is(Op::broadcast) ||
           user.is(ScalarOp::reciprocal);
  };
  for (const Node* part : softmax.parts)
    if (!llvm::all_of(part->result()->users(), [&](const Node* user) { return expected(*user); }))
      return true;
  for (const auto& result : softmax.pair->results())
    if (!llvm::all_of(result->users(), [&](const Node* user) { return expected(*user); })) return true;
  return false;
}

}  // namespace smelt
