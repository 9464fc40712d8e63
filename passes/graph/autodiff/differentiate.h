// differentiate: appends reverse-mode gradients of one scalar output to the graph.
//
//   graph @g(..) {                   graph @g(..) {
//     %loss = .. parameter "w" ..      %loss = .. parameter "w" ..
//     return loss_sum = %loss          %dw = .. {phase = backward}
//   }                                  return loss_sum = %loss, grad.w = %dw
//                                    }
//
// For every parameter or input NAME of the option `wrt`, an output "grad.NAME" is appended. It is zeros if
// the differentiated output does not depend on NAME. Each op has a rule (vjp.h); those of pointwise ops are
// in scalar_ops.def. Composites without a rule are decomposed first; those with a rule, such as softmax and
// cross_entropy, stay. The gradient (cotangent) of a value with several users is the sum over its users. If
// the users are slices that together cover the value, their gradients are joined by one concat. Ensures:
// existing outputs keep their values; every new node has the phase backward and the source name of its
// forward node.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct DifferentiateOptions {
  std::string output = "loss_sum";  // name of the output to differentiate
  /// Names of parameters or inputs; empty: all float parameters of the module that are not frozen.
  std::vector<std::string> wrt;
  double seed = 1;  // the cotangent of the output
};
template <typename Field>
void visit_options(Field& field, DifferentiateOptions& o) {
  field("output", o.output), field("wrt", o.wrt), field("seed", o.seed);
}
/// Appends the gradients. Throws Error if the output is no float scalar, if a name is unknown, or if an op
/// between a variable and the output has no derivative.
bool differentiate(Graph& graph, const DifferentiateOptions& options);

/// Returns the composites that have a derivative rule.
std::vector<Op> composites_with_vjp();

}  // namespace smelt
