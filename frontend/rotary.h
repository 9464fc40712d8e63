// The angles of rotary position embeddings (RoFormer, arXiv 2104.09864) and the ways to stretch them over
// more positions than a model was trained on.
#pragma once

#include <vector>

#include "frontend/transformer_spec.h"

namespace smelt {

struct RotaryTable {
  std::vector<double> cosines, sines;  // [rows, head_dim / 2], times yarn's attention factor
};

/// Angles a position, of pair i: theta^(-2 i / head_dim), changed as positions.scaling says. What `dynamic`
/// changes beyond max_positions depends on the length of a batch; build_transformer refuses such lengths.
std::vector<double> rotary_frequencies(const TransformerSpec& spec, int64_t head_dim);
/// By which cosines and sines are multiplied.
double rotary_magnitude(const TransformerSpec& spec);
RotaryTable rotary_table(const TransformerSpec& spec, int64_t head_dim, int64_t rows);

}  // namespace smelt
