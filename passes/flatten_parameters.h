// flatten_parameters: the module's parameters become segments of one flat state, "parameters".
//
// Decayed parameters come first, so that weight decay is `index < boundary`. A segment's offset is a multiple
// of 16 elements, but for members of a group in Module::adjacent, which follow each other without a gap.
// Padding holds zeros. `parameter` nodes stay as they are and mean their segment. Contract: no graph changes.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct FlattenParametersOptions {};
/// False where the state exists already or there is nothing to flatten.
bool flatten_parameters(Module& module, const FlattenParametersOptions& options = {});

/// The flat state; throws Error where flatten_parameters has not run.
const State& flat_parameters(Module& module);
/// Declares a state of the flat parameters' shape and segments (gradients, moments); all begin with
/// `initial`.
State& declare_flat_state(Module& module, std::string name, Role role, double initial = 0);
/// Declares an f32 scalar.
State& declare_scalar_state(Module& module, std::string name, double initial = 0);
/// The end of the decayed segments, or with `all` of those that are trained: where weight decay stops.
int64_t decay_boundary(const State& flat, bool all = false);

}  // namespace smelt
