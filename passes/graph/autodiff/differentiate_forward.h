// differentiate_forward: appends forward-mode derivatives (Jacobian-vector products) to the graph.
//
//   graph @g(%x: f32[3]) {      graph @g(%x: f32[3], %tangent.x: f32[3]) {
//     %y = exp %x : f32[3]        %y = exp %x : f32[3]
//     return y = %y               %0 = mul %tangent.x, %y {phase = "tangent"} : f32[3]
//   }                             return y = %y, tangent.y = %0
//                               }
//
// For every wanted parameter or input NAME an input "tangent.NAME" of its type is appended, and for every
// float output OUT an output "tangent.OUT": the derivative of OUT along those tangents, or zeros if OUT does
// not depend on them. The rules are in the same table as those of reverse mode (vjp.h). Composites are
// decomposed first. New nodes carry phase = "tangent".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct DifferentiateForwardOptions {
  std::vector<std::string> wrt;  // names of parameters or inputs; empty: all parameters of the module
};
template <typename Field>
void visit_options(Field& field, DifferentiateForwardOptions& o) {
  field("wrt", o.wrt);
}
bool differentiate_forward(Graph& graph, const DifferentiateForwardOptions& options);

}  // namespace smelt
