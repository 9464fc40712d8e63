// differentiate: appends reverse-mode gradients of one scalar output to the graph.
//
//   graph @g(..) {                   graph @g(..) {
//     %loss = .. parameter "w" ..      %loss = .. parameter "w" ..
//     return loss_sum = %loss          %dw = .. {phase = "backward"}
//   }                                  return loss_sum = %loss, grad.w = %dw
//                                    }
//
// For every wanted parameter or input NAME an output "grad.NAME" is appended; it is zeros if the
// differentiated output does not depend on NAME. Rules are per op (vjp.cpp); pointwise ops have theirs in
// scalar_ops.def. Composites without a rule are decomposed first; those with a rule (softmax, log_softmax,
// cross_entropy) stay. Ensures: existing outputs keep their values; every new node carries phase = "backward"
// and the source name of its forward node; a value with several users gets the sum of its cotangents; slices
// that tile one value get one concat.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct DifferentiateOptions {
  std::string output = "loss_sum";
  std::vector<std::string>
      wrt;          // names of parameters or inputs; empty: all parameters of the module but frozen ones
  double seed = 1;  // the cotangent of the output
};
template <typename Field>
void visit_options(Field& field, DifferentiateOptions& o) {
  field("output", o.output), field("wrt", o.wrt), field("seed", o.seed);
}
bool differentiate(Graph& graph, const DifferentiateOptions& options);

/// Returns the composites that have a derivative rule.
std::vector<Op> composites_with_vjp();

}  // namespace smelt
