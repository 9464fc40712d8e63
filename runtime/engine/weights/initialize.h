// Initial values of states. A value is a pure function of the seed, a name and the element's index, so that a
// model that is trained from scratch depends neither on the number of threads nor on the order of parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Fills `values` with the elements `first`, `first` + 1, ... of a sequence. `init` specifies the kind of
/// values. `name`, `seed` and init.seed select the sequence of random numbers.
void initialize_values(const Initializer& init, std::string_view name, uint32_t seed, std::span<float> values,
                       int64_t first = 0);

/// Coordinates of a rank in the mesh that segments are sharded over.
struct RankPlace {
  Mesh mesh = {};
  std::vector<int64_t> coordinates = {};  // one per axis
};

/// Initializes `part`, the bytes from `begin` on of a state of `state_bytes` bytes. In an f32, f16 or bf16
/// state, each segment gets the values of its own initializer and name, and gaps between segments get zeros.
/// A state of another type, or without segments, gets the values of the state's own initializer. If a segment
/// is sharded, the state has only those elements of the segment that belong to the rank at `place`. They get
/// the same values as in the whole segment. Throws Error if the type is not f32, f16 or bf16 and the
/// initializer is random. For these other types, throws Error also for a constant other than 0, unless the
/// type is f64, i32 or i64.
void initialize_state(const State& state, uint32_t seed, std::span<std::byte> part, int64_t begin,
                      int64_t state_bytes, const RankPlace& place = {});
/// Initializes a whole state.
void initialize_state(const State& state, uint32_t seed, std::span<std::byte> memory);

/// Description of a segment (or of a state without segments) for a GPU kernel that makes the values of
/// initialize_state. The kernels (codegen/cuda/step_kernels.h) have the same struct. A group is the four
/// elements of one call of Philox.
struct InitialRow {
  /// Number of groups in the rows before this one, and the segment's first element and size in the state.
  int64_t first_group, offset, elements;
  double scale;            // Initializer::a
  uint32_t seed, id;       // the Philox key of the numbers
  int32_t kind, reserved;  // kind: the Initializer::Kind; reserved: always 0
};
/// Returns a row for each segment (or for a state without segments) that does not begin as zeros, in order.
/// Sets `groups` to the number of groups in all rows.
std::vector<InitialRow> initial_rows(const State& state, uint32_t seed, int64_t state_bytes, int64_t& groups);

/// Returns the name of the kernel that makes a state's initial values from rows: "smelt_initialize_f32" or
/// "smelt_initialize_bf16". Returns an empty text if the host makes the values: for states without random
/// numbers, copies of other states, sharded segments and other types.
std::string initialize_kernel_name(const State& state);

}  // namespace smelt
