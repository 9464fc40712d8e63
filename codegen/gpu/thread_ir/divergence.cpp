#include "codegen/gpu/thread_ir/divergence.h"

#include <algorithm>

namespace smelt::gpu {
namespace {

/// The number of the thread's group, or of a set of whole groups.
bool is_group_number(const ExprNode& x, int group) {
  if (x.kind != ExprNode::Kind::binary || x.binary != BinaryOp::divide) return false;
  return x.operands[0]->kind == ExprNode::Kind::thread && x.operands[1]->kind == ExprNode::Kind::number &&
         x.operands[1]->integer % group == 0;
}

bool is_known(ExprNode::Kind kind) {
  return kind == ExprNode::Kind::binary || kind == ExprNode::Kind::negation ||
         kind == ExprNode::Kind::choice || kind == ExprNode::Kind::cast;
}

}  // namespace

Agreement agreement_of(const Expr& value, int group,
                       const std::function<Agreement(const std::string&)>& of_variable) {
  if (value.is_nothing()) return Agreement::block;
  if (value->kind == ExprNode::Kind::thread) return Agreement::none;
  if (value->kind == ExprNode::Kind::variable) return of_variable(value->name);
  if (is_group_number(*value, group)) return Agreement::group;
  Agreement least = Agreement::block;
  if (is_known(value->kind))
    for (const Expr& operand : value->operands)
      least = std::max(least, agreement_of(operand, group, of_variable));
  return least;
}

}  // namespace smelt::gpu
