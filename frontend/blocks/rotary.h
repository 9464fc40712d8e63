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
/// i, changed by positions.scaling. `length` is the number of positions of the batch. The angles depend on it
/// if it exceeds rotary_limit().
std::vector<double> rotary_frequencies(const TransformerSpec& spec, int64_t width, int64_t length = 0);
/// Returns the number of positions up to which the angles do not depend on the length of the batch:
/// max_positions for the scaling `dynamic`, the length of pretraining for `longrope`, else INT64_MAX.
int64_t rotary_limit(const TransformerSpec& spec);
/// Returns the factor of cosines and sines: the attention factor of the scalings `yarn` and `longrope`,
/// else 1.
double rotary_magnitude(const TransformerSpec& spec);
/// Returns the table for positions 0 ... rows - 1 of a batch of at most rotary_limit() positions.
RotaryTable rotary_table(const TransformerSpec& spec, int64_t width, int64_t rows);

}  // namespace smelt
