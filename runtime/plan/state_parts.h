// Elements of a plan's states that a rank of the mesh holds. Initial values, weights and checkpoints need
// them, because these are always specified for the whole model, whatever the number of ranks is.
//
// The elements of a state are counted row-major, over all ranks (State::whole) and in the rank's own memory
// (State::shape). A flat state consists of tensors, its segments; one without segments is itself a tensor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Elements that are contiguous in the whole state and in the rank's memory.
struct StateRun {
  int64_t whole = 0, local = 0;  // offsets of the first element
  int64_t elements = 0;
};

/// Contiguous elements of one of the state's tensors. `at` is the offset in the rank's part of the tensor, as
/// it would be if the state itself were not sharded.
struct TensorRun {
  const Segment* segment = nullptr;  // null: the state has none
  int64_t at = 0, local = 0, elements = 0;
};

/// Returns whether the state as a whole is sharded over ranks.
bool is_cut(const State& state);
/// Returns whether ranks hold different elements of the state: it is sharded, or tensors of it are
/// (Segment::cut).
bool is_in_parts(const State& state);
/// Returns the same, but true also for a flat state of a mesh with several pipeline stages, because each
/// stage's flat state consists of other tensors.
bool is_in_parts(const State& state, const Mesh& mesh);
/// Returns the inconsistency between the state's shapes, its sharding and the mesh, after the state's name;
/// empty if there is none.
std::string fault_of_parts(const State& state, const Mesh& mesh);
/// Returns whether both have the same elements over all ranks, in the same order. A rank may hold different
/// elements of each.
bool have_same_elements(const State& a, const State& b);
/// Returns the state's extents over all ranks. Throws Error if one of them is not a number.
std::vector<int64_t> whole_extents(const State& state);
/// Returns the elements that the rank of the mesh holds, in the order of its memory. Throws Error
/// (invalid_file) if the state's shapes do not fit its sharding or the mesh.
std::vector<StateRun> state_runs(const State& state, const Mesh& mesh, int64_t rank);
/// Returns the same elements without padding, as runs that are each within one tensor, in the order of the
/// rank's memory.
std::vector<TensorRun> tensor_runs(const State& state, const Mesh& mesh, int64_t rank);
/// Returns the same, but `at` is the offset in the tensor over all ranks that share it: one run for each
/// group of elements that is contiguous in both.
std::vector<TensorRun> whole_tensor_runs(const State& state, const Mesh& mesh, int64_t rank);
/// Returns the offset at which each of the state's tensors would begin if one rank had all of them.
std::vector<int64_t> whole_offsets(const State& state);
/// Returns whether this rank is the first of the ranks that hold these elements; the first one writes them. A
/// tensor that several pipeline stages hold is written by each stage.
bool is_first_holder(const State& state, const Mesh& mesh, int64_t rank);

}  // namespace smelt
