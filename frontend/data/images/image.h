// Images: bytes of one or three channels, decoded from JPEG and PNG as PIL decodes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/error.h"

namespace smelt {

/// Largest image in pixels, which is PIL's limit too. The header of a larger one is refused before memory is
/// taken for its pixels.
constexpr int64_t kMostPixels = 89'478'485;

/// An image of `height` rows of `width` pixels, with `channels` bytes each: 1 (grey) or 3 (red, green, blue).
struct Image {
  int64_t width = 0, height = 0, channels = 3;
  std::vector<uint8_t> pixels = {};  // [height, width, channels]

  Image() = default;
  Image(int64_t width, int64_t height, int64_t channels)
      : width(width),
        height(height),
        channels(channels),
        pixels(static_cast<size_t>(width * height * channels)) {}

  uint8_t* row(int64_t y) { return pixels.data() + y * width * channels; }
  const uint8_t* row(int64_t y) const { return pixels.data() + y * width * channels; }
};

/// An image that was decoded, and its orientation in EXIF: 1 to 8; 1 is upright.
struct DecodedImage {
  Image image = {};
  int orientation = 1;
};

/// Throws Error if files of images cannot be decoded to `channels` channels: it must be 1 or 3.
void check_image_channels(int64_t channels);

/// Decodes a JPEG or PNG, whose first bytes decide which it is, to `channels` channels (1 or 3), upright by
/// its EXIF orientation. Transparency is ignored, 16 bits become 8, and CMYK and palettes become colours as
/// by PIL's convert("RGB"), or "L" for one channel. Throws Error (invalid_file) if the data are of another
/// format, damaged, cut off, or of more than kMostPixels pixels; Error if `channels` is neither 1 nor 3.
Image decode_image(std::span<const std::byte> file, int64_t channels);

/// Decoders of one format, to grey or colours as they are stored.
DecodedImage decode_jpeg(std::span<const std::byte> file);
DecodedImage decode_png(std::span<const std::byte> file);

/// Throws Error (invalid_file) if the size is not that of an image, or too large, or has more pixels than a
/// file of `file_bytes` bytes can code, each of which codes at most `most_per_byte` pixels.
void check_image_size(int64_t width, int64_t height, size_t file_bytes, int64_t most_per_byte);

/// Returns the image turned upright. `orientation` is the one of EXIF.
Image upright(Image image, int orientation);

/// Returns the orientation in a TIFF structure, which is the content of EXIF; 1 if it has none or is damaged.
int exif_orientation(std::span<const std::byte> tiff);

}  // namespace smelt
