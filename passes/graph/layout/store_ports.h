// store_ports: turns inputs, parameters and outputs into states of their names, so that a run copies nothing
// between host and device.
//
//   graph @g(%x: f32[8,3]) {      state "x" {init = normal(1)} : bf16[8,3]
//     %y = exp %x : f32[8,3]      state "y" : bf16[8,3]
//     return y = %y               graph @g() {
//   }                               %0 = state "x"; %1 = convert %0; %y = exp %1; %2 = convert %y
//                                   update %2 {state = "y"}
//
// f32 values of two and more dims take the storage type, as activations, their gradients and multiplied
// weights do in training (assign_precision); vectors and scalars, such as norm weights, biases and losses,
// keep their type. An output that is an input is dropped, because no step would write it. Ports of one name
// share a state, in one graph or in several; throws Error if their types differ.
#pragma once

#include <string_view>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct StorePortsOptions {
  DType storage = DType::f32;
};
template <typename Field>
void visit_options(Field& field, StorePortsOptions& o) {
  field("storage", o.storage);
}
bool store_ports(Graph& graph, const StorePortsOptions& options);

}  // namespace smelt
