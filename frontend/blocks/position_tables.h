// Tables of position encodings that are computed, not learned. They are computed in double precision.
#pragma once

#include <vector>

#include "frontend/transformer_spec.h"

namespace smelt {

/// Returns the sinusoidal table [rows,width] of positions 0 ... rows - 1: sines and cosines of the angles
/// position * 10000^(-2 i / width), i = 0, 1, ... If `ends_at_slowest`, width - 2 replaces width in the
/// exponent, so that the last frequency is 1 / 10000. If `interleaved`, sines and cosines alternate, else the
/// first half of a row are sines.
std::vector<double> sinusoids(int64_t rows, int64_t width, bool interleaved, bool ends_at_slowest = false);
/// Returns the table [rows,hidden] of a model with sinusoidal positions.
std::vector<double> position_table(const TransformerSpec& spec, int64_t rows);

/// Returns the bucket number of every distance (key minus query) from -(length - 1) to length - 1 (T5, arXiv
/// 1910.10683). Near 0, each distance has its own bucket; farther away, the widths of buckets grow
/// exponentially. A causal stack uses all buckets for keys before the query. Any other stack uses one half of
/// them for keys before the query, and the other half for keys after it.
std::vector<double> distance_buckets(const TransformerSpec::Positions& positions, int64_t length,
                                     bool causal);

/// Returns for each head the decrease of a score per token of distance (ALiBi, arXiv 2108.12409). Let n be
/// the largest power of two that is at most `heads`. The first n heads have the slopes 2^(-8 i / n), i = 1,
/// 2, ... n, and the others 2^(-4 i / n), i = 1, 3, 5, ...
std::vector<double> alibi_slopes(int64_t heads);

}  // namespace smelt
