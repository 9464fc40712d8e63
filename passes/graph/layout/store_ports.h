// store_ports: turns the inputs, parameters and outputs of a graph ("ports") into states of the same names,
// so that a run copies nothing between host and device.
//
//   graph @g(%x: f32[8,3]) {      state "x" {init = normal(1)} : bf16[8,3]
//     %y = exp %x : f32[8,3]      state "y" : bf16[8,3]
//     return y = %y               graph @g() {
//   }                               %0 = state "x"; %1 = convert %0; %y = exp %1; %2 = convert %y
//                                   update %2 {state = "y"}
//
// The states of f32 values of two or more dims have the type of the option `storage`, because training stores
// activations, their gradients and weights of matmuls in this type (assign_precision). Vectors and scalars,
// such as norm weights, biases and losses, keep their type. An output that is an input or a parameter is
// dropped, because no step would write it. The states of float inputs and parameters begin with random
// numbers (init = normal(1)). All ports of one name, in one graph or in several, share one state. Throws
// Error if their types differ.
#pragma once

#include <string_view>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct StorePortsOptions {
  DType storage = DType::f32;  // type of states for f32 values of two or more dims
};
template <typename Field>
void visit_options(Field& field, StorePortsOptions& o) {
  field("storage", o.storage);
}
/// Returns whether the graph had any ports.
bool store_ports(Graph& graph, const StorePortsOptions& options);

}  // namespace smelt
