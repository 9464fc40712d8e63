// First values of states: a pure function of the seed, a name and an element's index, so that neither the
// number of threads nor the order of parameters changes a model that is trained from scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Fills `values`, elements `first` ... of a sequence, as specified by `init`; `name` and both seeds
/// (init.seed and `seed`) pick the random sequence.
void initialize_values(const Initializer& init, std::string_view name, uint32_t seed, std::span<float> values,
                       int64_t first = 0);

/// Coordinates of a rank in the mesh that segments are sharded over.
struct RankPlace {
  Mesh mesh = {};
  std::vector<int64_t> coordinates = {};  // one an axis
};

/// Initializes a part of a state of `state_bytes` bytes, from its byte `begin` on: each segment by its own
/// initializer and name, zeros between segments; the state's own initializer if it has no segments. A rank
/// that has a part of a segment draws the elements of the whole at that position. Throws Error if the state
/// needs random numbers and is not of a float type.
void initialize_state(const State& state, uint32_t seed, std::span<std::byte> part, int64_t begin,
                      int64_t state_bytes, const RankPlace& place = {});
/// The whole of it.
void initialize_state(const State& state, uint32_t seed, std::span<std::byte> memory);

/// Description of a segment (or of a state without segments) by which a device makes the same values itself.
/// A group is four elements, one call of Philox. The layout is that of the kernels of
/// codegen/cuda/step_kernels.h.
struct InitialRow {
  int64_t first_group, offset, elements;
  double scale;            // Initializer::a
  uint32_t seed, id;       // the key of its numbers
  int32_t kind, reserved;  // Initializer::Kind
};
/// Returns the rows of all parts that do not begin as zeros, in order; `groups` is the number of groups in
/// them.
std::vector<InitialRow> initial_rows(const State& state, uint32_t seed, int64_t state_bytes, int64_t& groups);

/// The kernel that makes a state's initial values from rows: "smelt_initialize_f32", "smelt_initialize_bf16".
/// Empty if the host makes them: states without random numbers, copies, other types.
std::string initialize_kernel_name(const State& state);

}  // namespace smelt
