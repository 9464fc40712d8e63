// Weights as signed bytes: each row of a matrix, the weights of one output, is a scale times whole numbers
// from -127 to 127.
#pragma once

#include <cstdint>
#include <span>

namespace smelt {

/// Quantizes rows of weights to i8. Row r of `weights` is about scales[r] * to[r]: scales[r] is its largest
/// magnitude / 127, and numbers are rounded to nearest even, so that each weight is off by at most half its
/// scale. A row of zeros has the scale 0, one with a NaN or infinity the scale NaN, so that products are NaN,
/// as with the weights themselves. `to` is as long as `weights`, which are whole rows.
void quantize_rows(std::span<const float> weights, std::span<int8_t> to, std::span<float> scales);

/// Multiplies each row by its scale; a value for each row.
void scale_rows(std::span<float> values, std::span<const float> scales);

}  // namespace smelt
