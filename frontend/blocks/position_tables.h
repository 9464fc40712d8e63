// Tables of positions that are computed, not learned, in double.
#pragma once

#include <vector>

#include "frontend/transformer_spec.h"

namespace smelt {

/// [rows,width]: sines and cosines of falling frequencies, in halves (sines first) or interleaved.
std::vector<double> sinusoids(int64_t rows, int64_t width, bool interleaved);

/// The bucket of every distance (key minus query) from -(length - 1) to length - 1 (T5, arXiv 1910.10683):
/// exact near 0, logarithmic farther away. A causal stack has all its buckets for the past, another half of
/// them for either side.
std::vector<double> distance_buckets(const TransformerSpec::Positions& positions, int64_t length,
                                     bool causal);

}  // namespace smelt
