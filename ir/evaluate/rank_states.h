// Flat states of which ranks hold parts of some segments: what each rank has of them, from tensors of whole
// segments, and these from what the ranks have. The tensor of a segment is called "state/segment".
#pragma once

#include "ir/evaluate/evaluator.h"

namespace smelt {

bool has_cut_segments(const State& state);
std::string segment_key(const std::string& state, const std::string& segment);  // "adam.m/h.0.fc.weight"
/// The tensor of every segment of a flat one.
Tensors segments_of(const State& state, const Tensor& flat);

/// The rank's flat state, of tensors of all segments by their keys, or of parameters by their names; nothing
/// where one is not given. Where the flat state itself is cut, too, it is the rank's part.
std::optional<Tensor> flat_part(const State& state, const Tensors& given, const Mesh& mesh, int64_t rank);
/// The inverse: whole segments by their keys. Throws Error where ranks that should hold the same do not.
Tensors joined_segments(const State& state, const std::vector<Tensor>& parts, const Mesh& mesh);

}  // namespace smelt
