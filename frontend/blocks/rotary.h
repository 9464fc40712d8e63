// Angles of rotary position embeddings (RoFormer, arXiv 2104.09864) and their scaling to more positions than
// a model was trained on. The rotated elements of a head (`width` elements) form width / 2 pairs. At each
// position, each pair is rotated by an angle.
#pragma once

#include <vector>

#include "frontend/transformer_spec.h"

namespace smelt {

/// Cosines and sines of the angles of all positions and pairs.
struct RotaryTable {
  std::vector<double> cosines, sines;  // [rows, width / 2], times rotary_magnitude()
};

/// Returns how many elements of each head are rotated: head_dim * positions.rotary_fraction.
int64_t rotary_width(const TransformerSpec& spec, const StackSpec& stack);
/// Returns the angle per position, in radians, of each of the width / 2 pairs: theta^(-2 i / width) for pair
/// i, changed by positions.scaling. `length` is the number of positions of the batch. Only the scaling
/// `dynamic` depends on `length`: if `length` exceeds max_positions, the scaling changes the angles.
std::vector<double> rotary_frequencies(const TransformerSpec& spec, int64_t width, int64_t length = 0);
/// Returns the factor of cosines and sines: YaRN's attention factor, else 1.
double rotary_magnitude(const TransformerSpec& spec);
/// Returns the table for positions 0 ... rows - 1. The scaling `dynamic` is not applied.
RotaryTable rotary_table(const TransformerSpec& spec, int64_t width, int64_t rows);

}  // namespace smelt
