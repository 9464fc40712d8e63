// differentiate_forward: appends forward-mode derivatives (Jacobian-vector products) to the graph.
//
//   graph @g(%x: f32[3]) {      graph @g(%x: f32[3], %tangent.x: f32[3]) {
//     %y = exp %x : f32[3]        %y = exp %x : f32[3]
//     return y = %y               %0 = mul %tangent.x, %y {phase = tangent} : f32[3]
//   }                             return y = %y, tangent.y = %0
//                               }
//
// For every parameter or input NAME of the option `wrt`, an input "tangent.NAME" of its type is appended. For
// every float output OUT, an output "tangent.OUT" is appended: the derivative of OUT along these tangents, or
// zeros if OUT depends on no NAME. The rules are in the same table as those of reverse mode (vjp.h).
// Composites are decomposed first, except with_slopes, an op that states the derivatives of its result. New
// nodes have the phase tangent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct DifferentiateForwardOptions {
  /// Names of parameters or inputs; empty: all float parameters of the module that are not frozen.
  std::vector<std::string> wrt;
};
template <typename Field>
void visit_options(Field& field, DifferentiateForwardOptions& o) {
  field("wrt", o.wrt);
}
/// Appends the derivatives. Throws Error if a name is unknown, or if an op that must be differentiated has no
/// forward rule, such as custom_vjp.
bool differentiate_forward(Graph& graph, const DifferentiateForwardOptions& options);

}  // namespace smelt
