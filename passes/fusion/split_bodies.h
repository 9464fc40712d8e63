// split_bodies: a body that no library call of the target takes becomes nodes again: the matmul alone, whose
// result stays f32, and kernels of what the body did.
//
// Before assign_layout, after whatever fills bodies; decompose splits all bodies that it finds, so that what
// they hold fuses with its neighbours. Contract: the same values, for every rounding stands in the body.
#pragma once

#include <string_view>

#include "ir/graph.h"
#include "ir/target.h"

namespace smelt {

struct SplitBodiesOptions {
  Target target;
};
bool split_bodies(Graph& graph, const SplitBodiesOptions& options);
/// target = "sm_90"
void set_option(SplitBodiesOptions& options, std::string_view key, std::string_view value);

}  // namespace smelt
