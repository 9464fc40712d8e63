// assign_precision: what fusions and matmuls leave in memory for others becomes bf16 or f16.
//
//   %y = fusion (%x: f32[..]) { .. ret %v }     %y = fusion (%x: bf16[..]) { %w = convert %x : f32[..] ..
//                                                 %n = convert %v : bf16[..] .. ret %n }
//
// Arithmetic stays f32: bodies widen what they read and round what they store, by `convert` nodes that
// everybody sees, and a node of the same body that reads a stored value reads the rounded one. matmul takes
// narrow operands, sums in f32 and stores a narrow result. storage_classes.h says which values are stored
// narrow. Outputs keep their types; what is an output and read elsewhere too is stored both ways by its
// producer. A state of gradients that no graph reads (nothing is added up in it) becomes narrow.
//
// Of a stage of a pipeline what crosses a boundary between parts is narrow, and what forward leaves to
// backward has the type in which forward stores it: outputs and inputs with the names of kept_ports.h.
//
// Runs after fuse, so that kernels are those of fp32, and before assign_layout. Contract: the only rounding
// added is to the storage type; types of other outputs, inputs and states do not change.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace smelt {

struct AssignPrecisionOptions {
  DType storage = DType::f32;  // f32: nothing changes
};
/// Of a stage, forward comes before backward.
bool assign_precision(Graph& graph, const AssignPrecisionOptions& options);
/// storage = "bf16" | "f16" | "f32"
void set_option(AssignPrecisionOptions& options, std::string_view key, std::string_view value);

/// "fp32", "bf16", "fp16": the spelling of --precision. Throws Error naming these.
DType parse_precision(std::string_view text);

}  // namespace smelt
