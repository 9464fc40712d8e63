// Quantization of weights: to signed bytes, with one scale per row of a matrix, which has the weights of one
// output; and to codes of few bits, with one scale per group of elements of a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/packed_format.h"

namespace smelt {

/// Quantizes rows of weights to i8, one row per element of `scales`. Row r of `weights` is approximately
/// scales[r] times row r of `to`. scales[r] is the row's largest magnitude divided by 127. The quotient of a
/// weight and its scale is rounded to the nearest integer, so the error of a weight is at most half its
/// scale. A row of zeros has the scale 0. A row with a NaN or infinity has the scale NaN, so that its
/// products are NaN. Requires: `to` is as long as `weights`, and their length is a multiple of the number of
/// scales.
void quantize_rows(std::span<const float> weights, std::span<int8_t> to, std::span<float> scales);

/// Weights as codes of few bits. Group g of the weights, which all have the same length, is approximately
/// scales[g] times (the numbers of its codes minus zeros[g]). Empty zeros: all are 0.
struct PackedGroups {
  std::span<uint8_t> codes;  // bytes of the words (runtime/base/packed_format.h)
  std::span<float> scales;
  std::span<int8_t> zeros;
};

/// Quantizes groups of weights. Scales are numbers of the type `dtype`: f32, bf16 or f16. Without zeros, the
/// number of the largest magnitude in a group becomes the largest of the format (in int4 -8); with zeros, the
/// range of the group and 0 becomes the range of the format. Each weight gets the nearest code. A group of
/// zeros has the scale 0, and a group with a NaN or infinity the scale NaN.
void pack_groups(std::span<const float> weights, const PackedFormat& format, DType dtype, PackedGroups to);
/// Returns the weights of packed groups.
std::vector<float> unpack_groups(const PackedFormat& format, std::span<const uint8_t> codes,
                                 std::span<const float> scales, std::span<const int8_t> zeros);

/// Multiplies each row of `values` by its scale. There are as many rows as scales.
void scale_rows(std::span<float> values, std::span<const float> scales);

}  // namespace smelt
