#include "codegen/gpu/lower/scalar_values.h"

namespace smelt::gpu {
namespace {

Scalar common_scalar(Domain domain, std::span<const Expr> operands) {
  if (domain == Domain::flags) return Scalar::flag;
  if (domain == Domain::reals) return Scalar::real;
  Scalar common = domain == Domain::numbers ? Scalar::int32 : Scalar::flag;
  for (const Expr& value : operands) common = std::max(common, value.scalar());
  return common;
}

}  // namespace

Expr converted(const Expr& value, Scalar type) { return value.scalar() == type ? value : cast(value, type); }

Expr constant(double value, DType type) {
  const Scalar scalar = computed_type(type);
  if (scalar == Scalar::real) return real_number(value);
  if (scalar == Scalar::flag) return number(value != 0 ? 1 : 0, scalar);
  const auto integer = static_cast<int64_t>(value);
  return number(scalar == Scalar::int64 ? integer : static_cast<int32_t>(integer), scalar);
}

Expr apply(ScalarOp op, std::span<const Expr> operands, Precision precision) {
  const ScalarOpInfo& row = info(op);
  const size_t conditions = row.domain == Domain::choice ? 1 : 0;
  const Scalar common = common_scalar(row.domain, operands.subspan(conditions));
  ExprNode node{.kind = ExprNode::Kind::operation, .type = row.flag ? Scalar::flag : common};
  for (size_t i = 0; i < operands.size(); ++i)
    node.operands.push_back(converted(operands[i], i < conditions ? Scalar::flag : common));
  node.op = op, node.precision = precision;
  return Expr(std::move(node));
}

}  // namespace smelt::gpu
