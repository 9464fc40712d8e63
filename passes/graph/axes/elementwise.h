// Elementwise operations: a test for them, and their copies on other operands.
#pragma once

#include "ir/graph/builder.h"

namespace smelt {

/// Returns whether the node is elementwise, with operands of the result's shape.
inline bool works_on_elements(const Node& node) {
  return node.is(Op::pointwise) || (node.is(Op::convert) && node.operands().size() == 1);
}

/// Builds the elementwise operation of `node` on other operands.
inline Value* on_operands(GraphBuilder& b, const Node& node, llvm::ArrayRef<Value*> operands) {
  if (node.is(Op::convert)) return b.convert(operands[0], node.result()->dtype());
  return b.pointwise(node.scalar_op, operands);
}

}  // namespace smelt
