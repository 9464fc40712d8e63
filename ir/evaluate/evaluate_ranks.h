// Reference evaluation of graphs that run on several ranks: on all ranks of a mesh, or on all stages of a
// pipeline.
#pragma once

#include <vector>

#include "ir/evaluate/evaluator.h"

namespace smelt {

// ---- evaluate_ranks.cpp
// Evaluation of a graph after the pass `partition` on all ranks of its mesh, node by node in one process. It
// gives the reference result for several GPUs, without a GPU.

/// Evaluates the graph. Arguments and results are whole values: the function divides arguments between ranks
/// by their shardings, and joins the ranks' parts of each result. A flat state (many parameters in one
/// vector) with sharded segments is passed as one tensor per segment (see rank_states.cpp below). In
/// options.symbols, a size is the sum over all ranks. Throws the Errors of evaluate(), and Error if the
/// number of ranks that share a dim does not divide the dim's size, or if ranks that should hold the same
/// data differ.
Evaluation evaluate_ranks(const Graph& graph, const Tensors& inputs, const Tensors& states,
                          const EvaluateOptions& options);

/// Returns one rank's part of a whole value: the rank's block of every sharded dim. If the value is partial
/// along an axis (Sharding::partial), the ranks along that axis have addends whose sum is the value. The
/// first of these ranks then gets the value, and the others get zeros.
Tensor part_of(const Tensor& whole, const Sharding& sharding, const Mesh& mesh, int64_t rank);
/// Returns the whole value, given parts[rank] of all ranks. Throws Error that names `what` and two ranks if
/// parts that should be equal differ in any bit.
Tensor joined(const std::vector<Tensor>& parts, const Sharding& sharding, const Mesh& mesh,
              const std::string& what);

// ---- evaluate_stages.cpp
// Evaluation of one entry on every stage of a pipeline, in one process. Each stage has its own graph. The
// graphs exchange data by collectives, which are sums along the mesh axis `stage`.

/// Arguments of one stage.
struct StageRun {
  const Graph* graph = nullptr;
  const Tensors* inputs = nullptr;
  const Tensors* states = nullptr;
};
/// Returns the evaluation of each stage, in order. Throws the Errors of evaluate(). Also throws Error if the
/// stages reach different collectives, or a collective other than an all_reduce along the axis `stage`.
std::vector<Evaluation> evaluate_stages(const std::vector<StageRun>& stages, const EvaluateOptions& options);

// ---- rank_states.cpp
// Flat states with sharded segments: conversion between tensors of whole segments and each rank's flat state.
// The key of a segment's tensor is "state/segment".

/// Returns whether a segment of the state is sharded.
bool has_cut_segments(const State& state);
std::string segment_key(const std::string& state, const std::string& segment);  // "adam.m/h.0.fc.weight"
/// Returns the tensors of all segments of the flat state `flat`, by their keys.
Tensors segments_of(const State& state, const Tensor& flat);

/// Returns a rank's flat state. `given` has the tensor of every whole segment, under the segment's key or,
/// for a parameter, under the parameter's name. Returns nothing if a tensor is missing in `given`. If the
/// flat state itself is also sharded, returns only the rank's part of it.
std::optional<Tensor> flat_part(const State& state, const Tensors& given, const Mesh& mesh, int64_t rank);
/// Returns the tensors of all whole segments by their keys, given parts[rank], the flat states of all ranks.
/// Throws Error if ranks that should hold equal data do not.
Tensors joined_segments(const State& state, const std::vector<Tensor>& parts, const Mesh& mesh);

}  // namespace smelt
