// Quantization of weights to signed bytes. Each row of a matrix, which has the weights of one output, is
// stored as a scale and integers from -127 to 127.
#pragma once

#include <cstdint>
#include <span>

namespace smelt {

/// Quantizes rows of weights to i8, one row per element of `scales`. Row r of `weights` is approximately
/// scales[r] times row r of `to`. scales[r] is the row's largest magnitude divided by 127. The quotient of a
/// weight and its scale is rounded to the nearest integer, so the error of a weight is at most half its
/// scale. A row of zeros has the scale 0. A row with a NaN or infinity has the scale NaN, so that its
/// products are NaN. Requires: `to` is as long as `weights`, and their length is a multiple of the number of
/// scales.
void quantize_rows(std::span<const float> weights, std::span<int8_t> to, std::span<float> scales);

/// Multiplies each row of `values` by its scale. There are as many rows as scales.
void scale_rows(std::span<float> values, std::span<const float> scales);

}  // namespace smelt
