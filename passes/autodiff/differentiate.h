// differentiate: reverse-mode gradients of one scalar output, as nodes of the same graph.
//
// For every wanted parameter (or input) NAME an output "grad.NAME" is appended, zeros where the output does
// not depend on it. Rules are per op (vjp.cpp); pointwise ops read theirs from scalar_ops.def. Composites
// without a rule of their own are decomposed first; those with one (softmax, log_softmax, cross_entropy) stay
// as they are. Contract: existing outputs keep their values; every node made carries phase = "backward" and
// the source name of the forward node it belongs to; a value used several times gets the sum of its
// cotangents, slices of one value that tile it get one concat.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace smelt {

struct DifferentiateOptions {
  std::string output = "loss_sum";
  std::vector<std::string>
      wrt;          // names of parameters or inputs; empty: all parameters of the module but frozen ones
  double seed = 1;  // the cotangent of the output
};
bool differentiate(Graph& graph, const DifferentiateOptions& options);
/// output = "y1", wrt = "a+b", seed = "2"
void set_option(DifferentiateOptions& options, std::string_view key, std::string_view value);

/// Composites that differentiate has a rule for.
std::vector<Op> composites_with_vjp();

}  // namespace smelt
