// Tables of computed positions, in double.
#pragma once

#include <vector>

#include "frontend/transformer_spec.h"

namespace smelt {

/// Returns [rows,width]: sines and cosines of falling frequencies, in halves (sines first) or interleaved.
std::vector<double> sinusoids(int64_t rows, int64_t width, bool interleaved);

/// Returns the bucket of every distance (key minus query) from -(length - 1) to length - 1 (T5, arXiv
/// 1910.10683): exact near 0, logarithmic farther away. A causal stack has all its buckets for the past,
/// another one half of them for either side.
std::vector<double> distance_buckets(const TransformerSpec::Positions& positions, int64_t length,
                                     bool causal);

/// Returns per head the decrease of a score per token of distance (ALiBi, arXiv 2108.12409): 2^(-8 i / n), i
/// = 1 ... n, for the largest power n of two in `heads`; heads beyond it take every other one of 2 n.
std::vector<double> alibi_slopes(int64_t heads);

}  // namespace smelt
