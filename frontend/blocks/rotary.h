// The angles of rotary position embeddings (RoFormer, arXiv 2104.09864) and the ways to stretch them over
// more positions than a model was trained on.
#pragma once

#include <vector>

#include "frontend/transformer_spec.h"

namespace smelt {

struct RotaryTable {
  std::vector<double> cosines, sines;  // [rows, head_dim / 2], times yarn's attention factor
};

/// The angle per position of pair i: theta^(-2 i / head_dim), changed by positions.scaling: by `dynamic` only
/// in batches of more than max_positions.
std::vector<double> rotary_frequencies(const TransformerSpec& spec, int64_t head_dim, int64_t length = 0);
/// The factor of cosines and sines.
double rotary_magnitude(const TransformerSpec& spec);
RotaryTable rotary_table(const TransformerSpec& spec, int64_t head_dim, int64_t rows);

}  // namespace smelt
