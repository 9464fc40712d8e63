// Angles of rotary position embeddings (RoFormer, arXiv 2104.09864) and their scaling to more positions than
// a model was trained on.
#pragma once

#include <vector>

#include "frontend/transformer_spec.h"

namespace smelt {

struct RotaryTable {
  std::vector<double> cosines, sines;  // [rows, width / 2], times yarn's attention factor
};

/// Returns how many numbers of a head are rotated.
int64_t rotary_width(const TransformerSpec& spec, const StackSpec& stack);
/// Returns the angle per position of pair i of `width` numbers: theta^(-2 i / width), changed by
/// positions.scaling; by `dynamic` only in batches of more than max_positions.
std::vector<double> rotary_frequencies(const TransformerSpec& spec, int64_t width, int64_t length = 0);
/// Returns the factor of cosines and sines.
double rotary_magnitude(const TransformerSpec& spec);
RotaryTable rotary_table(const TransformerSpec& spec, int64_t width, int64_t rows);

}  // namespace smelt
