#include "frontend/data/images/image.h"

#include <algorithm>
#include <array>

namespace smelt {
namespace {

constexpr std::array<uint8_t, 3> kJpegBegin = {0xff, 0xd8, 0xff};
constexpr std::array<uint8_t, 8> kPngBegin = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

template <size_t Count>
bool begins_with(std::span<const std::byte> file, const std::array<uint8_t, Count>& magic) {
  return file.size() >= Count && std::ranges::equal(file.first(Count), std::as_bytes(std::span(magic)));
}

DecodedImage decode(std::span<const std::byte> file) {
  if (begins_with(file, kJpegBegin)) return decode_jpeg(file);
  if (begins_with(file, kPngBegin)) return decode_png(file);
  fail_with(Status::invalid_file, "{}: expected a JPEG or a PNG",
            file.empty() ? "the file is empty" : "its first bytes are those of no JPEG or PNG");
}

Image grey_to_colours(const Image& grey) {
  Image made(grey.width, grey.height, 3);
  uint8_t* out = made.pixels.data();
  for (const uint8_t value : grey.pixels) out = std::fill_n(out, 3, value);
  return made;
}

/// Luma of ITU-R 601, in 16 bits of fraction.
Image colours_to_grey(const Image& colours) {
  Image made(colours.width, colours.height, 1);
  const uint8_t* in = colours.pixels.data();
  for (uint8_t& value : made.pixels) {
    value = static_cast<uint8_t>((in[0] * 19595u + in[1] * 38470u + in[2] * 7471u + 0x8000u) >> 16);
    in += 3;
  }
  return made;
}

}  // namespace

void check_image_channels(int64_t channels) {
  if (channels != 1 && channels != 3)
    fail(
        "the model takes images of {} channels: files of images have 1 or 3; give it pixel_values, or make a "
        "data set of records",
        channels);
}

void check_image_size(int64_t width, int64_t height, size_t file_bytes, int64_t most_per_byte) {
  if (width < 1 || height < 1)
    fail_with(Status::invalid_file, "its size is {} x {}: expected pixels", width, height);
  if (width > kMostPixels / height)
    fail_with(Status::invalid_file, "its size is {} x {}: expected at most {} pixels", width, height,
              kMostPixels);
  constexpr int64_t kHeader = 4096;  // pixels that any file may have
  if (width * height > kHeader + static_cast<int64_t>(file_bytes) * most_per_byte)
    fail_with(Status::invalid_file, "it is cut off: {} bytes cannot have the {} x {} pixels of its header",
              file_bytes, width, height);
}

Image decode_image(std::span<const std::byte> file, int64_t channels) {
  check_image_channels(channels);
  DecodedImage decoded = decode(file);
  Image image = upright(std::move(decoded.image), decoded.orientation);
  if (image.channels == channels) return image;
  return channels == 1 ? colours_to_grey(image) : grey_to_colours(image);
}

}  // namespace smelt
