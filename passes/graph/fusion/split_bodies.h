// split_bodies: splits an epilogue that no library call of the target supports into the matmul alone, whose
// result stays f32, and the nodes of the epilogue.
//
//   %y = matmul %x, %w (%acc, %b = %bias) { .. }    =>    %m = matmul %x, %w : f32[..]
//                                                         %y = add %m, (broadcast %bias), ..
//
// Runs before assign_layout and after all passes that add epilogues. decompose splits every body that it
// finds, so that its nodes fuse with their neighbours. Ensures: values stay the same, because every rounding
// is explicit in the body.
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
