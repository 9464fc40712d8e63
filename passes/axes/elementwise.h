// Operations on single elements: what they are, and the same on other operands.
#pragma once

#include "ir/builder.h"

namespace smelt {

/// Element by element, from operands of the result's shape.
inline bool works_on_elements(const Node& node) {
  return node.is(Op::pointwise) || (node.is(Op::convert) && node.operands().size() == 1);
}

/// The operation, which works on elements, on other operands.
inline Value* on_operands(GraphBuilder& b, const Node& node, llvm::ArrayRef<Value*> operands) {
  if (node.is(Op::convert)) return b.convert(operands[0], node.result()->dtype());
  return b.pointwise(node.scalar_op, operands);
}

}  // namespace smelt
