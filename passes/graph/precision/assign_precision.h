// assign_precision: stores results of fusions and matmuls as bf16 or f16.
//
//   %y = fusion (%x: f32[..]) { .. return %v }  %y = fusion (%x: bf16[..]) { %w = convert %x : f32[..] ..
//                                                 %n = convert %v : bf16[..]; return %n }
//
// bf16 and f16 are called narrow, and f32 wide. Arithmetic stays f32: bodies widen their operands and round
// their results with explicit `convert` nodes. If a body stores a value and also uses it, the use reads the
// rounded value. A matmul reads narrow operands, sums in f32 and stores a narrow result. storage_classes.h
// defines which values are narrow. Outputs keep their types, except in a pipeline stage (below): if a narrow
// value is also an output, it is stored in both types. A state of gradients becomes narrow if no graph reads
// it, because then no entry adds to it.
//
// Two kinds of outputs and inputs of a pipeline stage do not keep their types. Values that cross a boundary
// between parts (named "values.3.0", for example) are narrow. Values that forward saves for backward
// ("saved.3.0") have the type in which forward stores them.
//
// Runs after fuse, so that the fusions are the same as for fp32, and before assign_layout. Ensures: the only
// added rounding is to the type `storage`; the types of all other outputs, inputs and states do not change.
#pragma once

#include <string_view>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct AssignPrecisionOptions {
  DType storage = DType::f32;  // bf16 or f16; f32: nothing changes
  /// Forward computes the same numbers whichever kernels there are: of the values that a kernel of forward
  /// stores for another one of forward, only those that a `convert` has rounded are stored narrow.
  bool same_bits = false;
};
template <typename Field>
void visit_options(Field& field, AssignPrecisionOptions& o) {
  field("storage", o.storage), field("same_bits", o.same_bits);
}
/// Assigns the storage types. Requires: in a pipeline stage, forward entries are processed before backward
/// entries.
bool assign_precision(Graph& graph, const AssignPrecisionOptions& options);

/// Parses "fp32", "bf16" or "fp16", the values of --precision. Throws Error for any other text.
DType parse_precision(std::string_view text);

}  // namespace smelt
