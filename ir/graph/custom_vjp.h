// Operands of the operation custom_vjp, which states the derivative (vector-Jacobian product) of a part of a
// graph:
//
//   %g = cotangent {id = 0} : f32[3]
//   %b = mul %g, %minus_two
//   %y = custom_vjp %f, %g, %x, %b {results = 1}
//
// %y has the value of %f. Reverse-mode differentiation does not differentiate %f. Instead, it substitutes the
// cotangent of %y for %g, and adds %b to the cotangent of %x. In general, with `results` = m, the operands
// are m values, their m cotangents, n inputs and the n gradients of these inputs, in this order.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// View of a custom_vjp node that names its operands.
class CustomVjp {
 public:
  explicit CustomVjp(const Node& node)
      : node_(node),
        results_(node.result_count()),
        inputs_(static_cast<unsigned>(node.operands().size()) / 2 - results_) {}

  /// Return m and n.
  unsigned results() const { return results_; }
  unsigned inputs() const { return inputs_; }
  Value* value(unsigned result) const { return node_.operand(result); }
  Value* cotangent(unsigned result) const { return node_.operand(results_ + result); }
  /// Returns the number of the operand that is input number `input`.
  unsigned input_operand(unsigned input) const { return 2 * results_ + input; }
  Value* gradient(unsigned input) const { return node_.operand(2 * results_ + inputs_ + input); }

 private:
  const Node& node_;
  unsigned results_, inputs_;
};

}  // namespace smelt
