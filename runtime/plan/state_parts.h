// Elements of a plan's states that a rank of the mesh holds. Initial values, weights and checkpoints are
// specified for the whole model, independently of the number of ranks. These functions map them to the rank's
// memory.
//
// The elements of a state are numbered row-major, both over all ranks (State::whole) and in the rank's own
// memory (State::shape). A state with segments is called flat, and its segments are called its tensors. A
// state without segments is one tensor.
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

/// Elements of one of the state's tensors that are contiguous in the tensor and in the rank's memory.
struct TensorRun {
  const Segment* segment = nullptr;  // the tensor; null: the state has no segments
  /// `at` is the offset of the first element in the tensor, and `local` its offset in the rank's memory. For
  /// a sharded segment (Segment::cut), `at` of tensor_runs is an offset in the rank's part of the segment,
  /// and `at` of whole_tensor_runs is an offset in the whole segment.
  int64_t at = 0, local = 0, elements = 0;
};

/// Returns whether the state itself is sharded over ranks (State::cut).
bool is_cut(const State& state);
/// Returns whether ranks hold different elements of the state: the state is sharded, or one of its segments
/// is (Segment::cut).
bool is_in_parts(const State& state);
/// Does the same, but also returns true for a flat state if the mesh has several pipeline stages. The flat
/// state of each stage has other tensors.
bool is_in_parts(const State& state, const Mesh& mesh);
/// Returns a text that describes an inconsistency between the state's shapes, its sharding and the mesh, to
/// be put after the state's name. Returns an empty text if there is none.
std::string fault_of_parts(const State& state, const Mesh& mesh);
/// Returns whether both states have the same elements over all ranks, in the same order. A rank may hold
/// different elements of the two.
bool have_same_elements(const State& a, const State& b);
/// Returns the state's extents over all ranks. Throws Error if one of them depends on a symbol.
std::vector<int64_t> whole_extents(const State& state);
/// Returns the elements that the rank of the mesh holds, in the order of its memory. Throws Error
/// (invalid_file) if the state's shapes do not fit its sharding or the mesh.
std::vector<StateRun> state_runs(const State& state, const Mesh& mesh, int64_t rank);
/// Returns the elements of state_runs without padding, as runs that are each within one tensor, in the order
/// of the rank's memory. Positions are counted in the rank's part of a sharded segment.
std::vector<TensorRun> tensor_runs(const State& state, const Mesh& mesh, int64_t rank);
/// Returns the runs of tensor_runs, but counts positions in the whole of a sharded segment.
std::vector<TensorRun> whole_tensor_runs(const State& state, const Mesh& mesh, int64_t rank);
/// Returns the offset at which each segment of the state would begin if one rank had all of them.
std::vector<int64_t> whole_offsets(const State& state);
/// Returns whether this rank has the lowest number of the ranks that hold the same elements of the state.
/// Only such ranks write these elements to a checkpoint. Ranks of different pipeline stages hold different
/// elements of a flat state, so each stage writes its tensors, even if another stage has the same tensor.
bool is_first_holder(const State& state, const Mesh& mesh, int64_t rank);

}  // namespace smelt
