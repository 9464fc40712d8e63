// differentiate_forward: forward-mode derivatives, as nodes of the same graph (Jacobian-vector products).
//
// For every wanted parameter (or input) NAME an input "tangent.NAME" of its type is appended, and for every
// float output OUT an output "tangent.OUT": the derivative of OUT along those tangents, zeros where it does
// not depend on them. Rules stand beside those of reverse mode; composites are decomposed first. Nodes made
// carry phase = "tangent".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace smelt {

struct DifferentiateForwardOptions {
  std::vector<std::string> wrt;  // names of parameters or inputs; empty: all parameters of the module
};
bool differentiate_forward(Graph& graph, const DifferentiateForwardOptions& options);
/// wrt = "a+b"
void set_option(DifferentiateForwardOptions& options, std::string_view key, std::string_view value);

}  // namespace smelt
