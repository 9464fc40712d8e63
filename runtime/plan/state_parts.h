// Which elements of a plan's states a rank of the mesh holds: for first values, weights and checkpoints,
// which are those of the whole model, whatever the number of ranks.
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

/// Elements that are neighbours in the whole state and in the rank's memory.
struct StateRun {
  int64_t whole = 0, local = 0;  // where the first of them is
  int64_t elements = 0;
};

/// The same of one of the state's tensors: `at` counts the elements of what the rank has of the tensor where
/// ranks do not cut the state.
struct TensorRun {
  const Segment* segment = nullptr;  // null: the state has none
  int64_t at = 0, local = 0, elements = 0;
};

/// Whether the state as a whole is cut over ranks.
bool is_cut(const State& state);
/// Whether ranks hold different elements of it: it is cut, or tensors of it are (Segment::cut).
bool is_in_parts(const State& state);
/// The same over all ranks: stages of a pipeline have flat states of their own, with other tensors.
bool is_in_parts(const State& state, const Mesh& mesh);
/// What does not fit in the state's shapes, its cut and the mesh, behind the state's name; empty: nothing.
std::string fault_of_parts(const State& state, const Mesh& mesh);
/// Whether both have the same elements over all ranks, in the same order; a rank may hold others of them.
bool have_same_elements(const State& a, const State& b);
/// Extents over all ranks, which must be numbers.
std::vector<int64_t> whole_extents(const State& state);
/// What the rank of the mesh holds, in the order of its memory. Throws Error (invalid_file) where the state's
/// shapes do not fit its cut or the mesh.
std::vector<StateRun> state_runs(const State& state, const Mesh& mesh, int64_t rank);
/// The same by tensor, without padding, in the order of the rank's memory.
std::vector<TensorRun> tensor_runs(const State& state, const Mesh& mesh, int64_t rank);
/// The same, but `at` counts the elements of the tensor over all ranks that share it: a run for each that
/// lies together in both.
std::vector<TensorRun> whole_tensor_runs(const State& state, const Mesh& mesh, int64_t rank);
/// Where each of the state's tensors would begin if one rank had all of them.
std::vector<int64_t> whole_offsets(const State& state);
/// Whether of all ranks that hold these elements this one is the first: it writes them. A tensor that several
/// stages of a pipeline hold is written by each.
bool is_first_holder(const State& state, const Mesh& mesh, int64_t rank);

}  // namespace smelt
