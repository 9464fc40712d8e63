// split_bodies: separates matmuls from their epilogues if the target does not support the epilogue. The
// matmul's result becomes f32, and the nodes of the epilogue follow as fusions.
//
//   %y = matmul %x, %w (%acc, %b = %bias) { .. }    =>    %m = matmul %x, %w : f32[..]
//                                                         %y = add %m, (broadcast %bias), ..
//
// Runs after all passes that add epilogues, and before assign_layout. Ensures: values stay the same, because
// every rounding is a node of the epilogue.
#pragma once

#include <string_view>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"
#include "ir/target.h"

namespace smelt {

struct SplitBodiesOptions {
  Target target;
};
template <typename Field>
void visit_options(Field& field, SplitBodiesOptions& o) {
  field("target", o.target);
}
bool split_bodies(Graph& graph, const SplitBodiesOptions& options);

}  // namespace smelt
