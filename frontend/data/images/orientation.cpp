// The orientation of an image in EXIF, and images turned by it.
#include <algorithm>
#include <optional>

#include "frontend/data/images/image.h"

namespace smelt {
namespace {

constexpr uint16_t kOrientationTag = 0x0112, kShortType = 3;

/// Numbers of a TIFF structure, whose first two bytes decide their order.
class Tiff {
 public:
  explicit Tiff(std::span<const std::byte> bytes) : bytes_(bytes) {
    big_ = bytes.size() > 1 && bytes[0] == std::byte{'M'};
  }
  /// Returns the number of `size` bytes at `offset`; nothing if it is not inside.
  std::optional<uint32_t> number(size_t offset, size_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i)
      value |= std::to_integer<uint32_t>(bytes_[offset + i]) << (8 * (big_ ? size - 1 - i : i));
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  bool big_ = false;
};

}  // namespace

int exif_orientation(std::span<const std::byte> bytes) {
  constexpr size_t kEntry = 12;  // bytes
  const Tiff tiff(bytes);
  const auto directory = tiff.number(4, 4);
  if (!directory || tiff.number(2, 2) != 42) return 1;
  const uint32_t count = tiff.number(*directory, 2).value_or(0);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t entry = size_t{*directory} + 2 + i * kEntry;
    if (tiff.number(entry, 2) != kOrientationTag) continue;
    const uint32_t value = tiff.number(entry + 8, 2).value_or(1);
    return tiff.number(entry + 2, 2) == kShortType && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

/// An orientation consists of up to three steps: 5 to 8 exchange rows and columns; 2, 3, 7 and 8 read the
/// stored columns from right to left; 3, 4, 6 and 7 read the stored rows from bottom to top.
Image upright(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const bool swaps = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image made(swaps ? image.height : image.width, swaps ? image.width : image.height, image.channels);
  uint8_t* out = made.pixels.data();
  for (int64_t y = 0; y < made.height; ++y)
    for (int64_t x = 0; x < made.width; ++x) {
      int64_t column = swaps ? y : x, row = swaps ? x : y;
      if (from_right) column = image.width - 1 - column;
      if (from_bottom) row = image.height - 1 - row;
      out = std::copy_n(image.row(row) + column * image.channels, image.channels, out);
    }
  return made;
}

}  // namespace smelt
