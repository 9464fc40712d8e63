// First values of states: a pure function of the seed, a name and an element's index, so that neither the
// number of threads nor the order of parameters changes a model that is trained from scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/plan.h"

namespace smelt {

/// Fills `values` as `init` says; `name` and both seeds (init.seed and `seed`) pick the random sequence.
void initialize_values(const Initializer& init, std::string_view name, uint32_t seed,
                       std::span<float> values);

/// The whole of a state: each segment by its own initializer and name, zeros between segments; the state's
/// own initializer where it has no segments. `memory` holds the state at its bounds. Throws Error where the
/// state needs random numbers and is not f32.
void initialize_state(const State& state, uint32_t seed, std::span<std::byte> memory);

}  // namespace smelt
