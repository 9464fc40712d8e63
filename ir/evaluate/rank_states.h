// Flat states whose segments ranks share: conversion between tensors of whole segments and each rank's part.
// The tensor of a segment is called "state/segment".
#pragma once

#include "ir/evaluate/evaluator.h"

namespace smelt {

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
