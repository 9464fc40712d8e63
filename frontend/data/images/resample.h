// Resized images, with the very bytes of Pillow 13: separable filters that widen when they shrink an image
// (antialiasing), in 22 bits of fraction, one axis after the other.
#pragma once

#include <optional>

#include "frontend/data/images/image.h"

namespace smelt {

enum class ImageFilter : uint8_t { lanczos, bilinear, bicubic, box, hamming };

/// Returns the filter with the number that PIL gives it ("resample" of a preprocessor_config.json); nothing
/// for other numbers, such as 0, the nearest pixel.
std::optional<ImageFilter> image_filter_of(int64_t number);

/// Returns the image in `width` x `height` pixels, both at least 1.
Image resize(const Image& image, int64_t width, int64_t height, ImageFilter filter);

}  // namespace smelt
