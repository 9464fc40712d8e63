// store_ports: inputs, parameters and outputs become states of their names, so that a run moves nothing
// between host and device.
//
//   graph @g(%x: f32[8,3]) {      state "x" {init = normal(1)} : bf16[8,3]
//     %y = exp %x : f32[8,3]      state "y" : bf16[8,3]
//     return y = %y               graph @g() {
//   }                               %0 = state "x"; %1 = convert %0; %y = exp %1; %2 = convert %y
//                                   update %2 {state = "y"}
//
// f32 of two and more dims takes the storage type, as activations, their gradients and multiplied weights do
// in training (assign_precision); vectors and numbers, such as norm weights, biases and losses, keep theirs.
// An output that is an input is dropped, since no step would write it. Ports of one name share a state, in
// one graph or in several: an Error where their types differ.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace smelt {

struct StorePortsOptions {
  DType storage = DType::f32;
};
bool store_ports(Graph& graph, const StorePortsOptions& options);
/// storage = "bf16" | "f16" | "f32"
void set_option(StorePortsOptions& options, std::string_view key, std::string_view value);

}  // namespace smelt
