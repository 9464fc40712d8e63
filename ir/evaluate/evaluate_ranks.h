// Evaluation of graphs on all ranks of a mesh.
#pragma once

#include <vector>

#include "ir/evaluate/evaluator.h"

namespace smelt {

// ---- evaluate_ranks.cpp
// Evaluation of a partitioned graph on all ranks of its mesh, in lockstep and in one process: the reference
// result of several GPUs, for any mesh and without any GPU.

/// Evaluates the graph. Inputs, states and parameters are given whole and cut by their shardings; results and
/// states are joined again. Flat states whose segments ranks share are given and returned segment by segment
/// (rank_states.cpp). Symbols have their values over all ranks. Throws Error, in addition to evaluate(), if
/// ranks do not divide a size, or if ranks that should hold equal data do not.
Evaluation evaluate_ranks(const Graph& graph, const Tensors& inputs, const Tensors& states,
                          const EvaluateOptions& options);

/// Returns one rank's part of a whole value: its block of every sharded dim. The first rank holds all of a
/// partial value and the others hold zeros.
Tensor part_of(const Tensor& whole, const Sharding& sharding, const Mesh& mesh, int64_t rank);
/// Joins parts[rank] of all ranks. Throws Error naming `what` and two ranks if parts that should be equal
/// differ in any bit.
Tensor joined(const std::vector<Tensor>& parts, const Sharding& sharding, const Mesh& mesh,
              const std::string& what);

// ---- evaluate_stages.cpp
// Evaluation of one entry on every stage of a pipeline, in lockstep and in one process. The graphs differ
// from stage to stage; their collectives are sums along the axis `stage`.

/// Arguments of one stage.
struct StageRun {
  const Graph* graph = nullptr;
  const Tensors* inputs = nullptr;
  const Tensors* states = nullptr;
};
/// Returns an evaluation per stage, in order. Throws Error, in addition to evaluate(), if stages reach
/// different collectives, or one is no all_reduce along the axis.
std::vector<Evaluation> evaluate_stages(const std::vector<StageRun>& stages, const EvaluateOptions& options);

// ---- rank_states.cpp
// Flat states whose segments ranks share: conversion between tensors of whole segments and each rank's part.
// The tensor of a segment is called "state/segment".

bool has_cut_segments(const State& state);
std::string segment_key(const std::string& state, const std::string& segment);  // "adam.m/h.0.fc.weight"
/// Returns the tensor of every segment of a flat one.
Tensors segments_of(const State& state, const Tensor& flat);

/// Returns the rank's flat state, from tensors of all segments by their keys, or of parameters by their
/// names; nothing if one is not given. If the flat state itself is sharded too, returns the rank's part.
std::optional<Tensor> flat_part(const State& state, const Tensors& given, const Mesh& mesh, int64_t rank);
/// Joins whole segments by their keys. Throws Error if ranks that should hold equal data do not.
Tensors joined_segments(const State& state, const std::vector<Tensor>& parts, const Mesh& mesh);

}  // namespace smelt
