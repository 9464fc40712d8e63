#include "codegen/gpu/thread_ir/check_types.h"

#include <algorithm>

namespace smelt::gpu {
namespace {

bool is_flag(const Expr& x) { return x.scalar() == Scalar::flag && x.type().is_number(); }
bool is_integer(const Expr& x) { return x.type().is_integer(); }
bool is_arithmetic(const Expr& x) { return is_integer(x) || x.type().is_real(); }

std::string binary_fault(const ExprNode& x) {
  const Expr &a = x.operands[0], &b = x.operands[1];
  switch (x.binary) {
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
      return is_flag(a) && is_flag(b) ? "" : "a conjunction or disjunction takes flags";
    case BinaryOp::remainder:
    case BinaryOp::shift_left:
    case BinaryOp::shift_right:
    case BinaryOp::bit_and:
      return is_integer(a) && is_integer(b) ? ""
                                            : "a remainder, a shift and an operation on bits take integers";
    case BinaryOp::add:
      if (a.type().pointer && is_integer(b)) return "";
      break;
    default:
      break;
  }
  const bool alike = (is_integer(a) && is_integer(b)) || (a.type().is_real() && b.type().is_real());
  return alike ? "" : "arithmetic and comparisons take two integers or two reals";
}

std::string cast_fault(const ExprNode& x) {
  const Type& from = x.operands[0].type();
  if (x.type.pointer) return from.pointer ? "" : "only a pointer becomes a pointer";
  return from.is_number() && from.scalar != Scalar::stored ? "" : "a cast to a number takes a number";
}

std::string operation_fault(const ExprNode& x) {
  const bool choice = info(x.op).domain == Domain::choice;
  const Type& computed = x.operands.back().type();
  for (size_t i = choice ? 1 : 0; i < x.operands.size(); ++i)
    if (x.operands[i].scalar() != computed.scalar || !x.operands[i].type().is_number())
      return "the operands of an operation have one type";
  return !choice || is_flag(x.operands[0]) ? "" : "a choice takes a flag";
}

}  // namespace

bool takes(const Type& variable, const Type& value) {
  if (variable.is_integer() && value.is_integer()) return true;
  const bool same_number = variable.scalar == value.scalar && variable.element == value.element;
  return same_number && variable.pointer == value.pointer && variable.rank == value.rank;
}

std::string type_fault(const ExprNode& x) {
  using Kind = ExprNode::Kind;
  switch (x.kind) {
    case Kind::binary:
      return binary_fault(x);
    case Kind::negation:
      return is_flag(x.operands[0]) ? "" : "a negation takes a flag";
    case Kind::choice:
      if (!is_flag(x.operands[0])) return "a choice takes a flag";
      return takes(x.operands[1].type(), x.operands[2].type()) ? ""
                                                               : "a choice is between values of one type";
    case Kind::cast:
      return cast_fault(x);
    case Kind::operation:
      return operation_fault(x);
    case Kind::element: {
      const Type& array = x.operands[0].type();
      if (!array.pointer && array.rank == 0) return "only an array or a pointer has elements";
      return is_integer(x.operands[1]) ? "" : "an index is an integer";
    }
    case Kind::load:
      return x.operands[0].scalar() == Scalar::stored && x.operands[0].type().is_number()
                 ? ""
                 : "a load takes an element in memory";
    case Kind::rounded:
      return is_arithmetic(x.operands[0]) ? "" : "only integers and reals are rounded";
    case Kind::shuffled:
      return is_integer(x.operands[0]) && is_integer(x.operands[2]) && is_arithmetic(x.operands[1])
                 ? ""
                 : "a shuffle takes a mask, a number and a distance";
    default:
      return "";
  }
}

}  // namespace smelt::gpu
