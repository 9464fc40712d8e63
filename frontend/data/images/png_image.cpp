// PNG by libpng: all types of colours and depths, also interlaced.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "frontend/data/images/image.h"

namespace smelt {
namespace {

constexpr int64_t kMostPixelsPerPngByte = 8 * 1040;  // zlib's smallest code for bytes of 8 pixels

/// State of a decoder with libpng's callbacks, which jump at an error.
struct PngDecoder {
  std::span<const std::byte> left;  // bytes of the file that are not read yet
  char message[200] = {};
  png_structp png = nullptr;
  png_infop info = nullptr;

  explicit PngDecoder(std::span<const std::byte> file) : left(file) {
    png = ::png_create_read_struct(PNG_LIBPNG_VER_STRING, this, stop, [](png_structp, png_const_charp) {});
    info = png != nullptr ? ::png_create_info_struct(png) : nullptr;
    if (info == nullptr) {
      ::png_destroy_read_struct(&png, nullptr, nullptr);  // no destructor runs for a constructor that throws
      fail_with(Status::out_of_memory, "PNG: no memory for a decoder");
    }
    ::png_set_read_fn(png, this, read);
  }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  ~PngDecoder() { ::png_destroy_read_struct(&png, &info, nullptr); }

  [[noreturn]] static void stop(png_structp png, png_const_charp text) {
    auto& decoder = *static_cast<PngDecoder*>(::png_get_error_ptr(png));
    std::snprintf(decoder.message, sizeof decoder.message, "%s", text);
    ::png_longjmp(png, 1);
  }
  static void read(png_structp png, png_bytep out, size_t size) {
    auto& decoder = *static_cast<PngDecoder*>(::png_get_io_ptr(png));
    if (decoder.left.size() < size) ::png_error(png, "it is cut off");
    std::memcpy(out, decoder.left.data(), size);
    decoder.left = decoder.left.subspan(size);
  }
};

/// Runs calls of libpng; throws Error with its message if one of them fails. Requires: `calls` makes no
/// object with a destructor, because a jump skips it.
template <typename Calls>
void run_calls(PngDecoder& decoder, Calls calls) {
  if (setjmp(png_jmpbuf(decoder.png)) != 0) fail_with(Status::invalid_file, "PNG: {}", decoder.message);
  calls();
}

/// Whole bytes per value, in 1 channel (grey, or the number of a colour) or 3; alpha is left out. 16 bits of
/// a colour become their upper 8; those of a grey stay, because PIL limits them to 255 instead.
void set_transformations(PngDecoder& decoder, int type, int depth) {
  run_calls(decoder, [&] {
    if (depth < 8 && type == PNG_COLOR_TYPE_GRAY) ::png_set_expand_gray_1_2_4_to_8(decoder.png);
    if (depth < 8 && type == PNG_COLOR_TYPE_PALETTE) ::png_set_packing(decoder.png);
    if (depth == 16 && type != PNG_COLOR_TYPE_GRAY) ::png_set_strip_16(decoder.png);
    if ((type & PNG_COLOR_MASK_ALPHA) != 0) ::png_set_strip_alpha(decoder.png);
    ::png_set_interlace_handling(decoder.png);
    ::png_read_update_info(decoder.png, decoder.info);
  });
}

std::vector<png_bytep> rows_of(Image& image) {
  std::vector<png_bytep> rows;
  for (int64_t y = 0; y < image.height; ++y) rows.push_back(image.row(y));
  return rows;
}

Image limited_to_bytes(const Image& wide) {
  Image made(wide.width, wide.height, 1);
  for (size_t i = 0; i < made.pixels.size(); ++i)
    made.pixels[i] = wide.pixels[2 * i] != 0 ? 255 : wide.pixels[2 * i + 1];
  return made;
}

Image colours_of_palette(PngDecoder& decoder, const Image& numbers) {
  png_colorp palette = nullptr;
  int count = 0;
  ::png_get_PLTE(decoder.png, decoder.info, &palette, &count);
  Image made(numbers.width, numbers.height, 3);
  uint8_t* out = made.pixels.data();
  for (const uint8_t number : numbers.pixels) {
    if (number >= count)
      fail_with(Status::invalid_file, "PNG: a pixel has the colour {} of a palette of {}", number, count);
    *out++ = palette[number].red, *out++ = palette[number].green, *out++ = palette[number].blue;
  }
  return made;
}

int orientation_of(PngDecoder& decoder) {
  png_bytep exif = nullptr;
  png_uint_32 size = 0;
  if (::png_get_eXIf_1(decoder.png, decoder.info, &size, &exif) == 0) return 1;
  return exif_orientation(std::as_bytes(std::span(exif, size)));
}

}  // namespace

DecodedImage decode_png(std::span<const std::byte> file) {
  PngDecoder decoder(file);
  run_calls(decoder, [&] { ::png_read_info(decoder.png, decoder.info); });
  const int64_t width = ::png_get_image_width(decoder.png, decoder.info),
                height = ::png_get_image_height(decoder.png, decoder.info);
  const int type = ::png_get_color_type(decoder.png, decoder.info),
            depth = ::png_get_bit_depth(decoder.png, decoder.info);
  check_image_size(width, height, file.size(), kMostPixelsPerPngByte);
  set_transformations(decoder, type, depth);
  Image stored(width, height, static_cast<int64_t>(::png_get_rowbytes(decoder.png, decoder.info)) / width);
  std::vector<png_bytep> rows = rows_of(stored);
  run_calls(decoder, [&] {
    ::png_read_image(decoder.png, rows.data());
    ::png_read_end(decoder.png, decoder.info);
  });
  if (type == PNG_COLOR_TYPE_PALETTE) stored = colours_of_palette(decoder, stored);
  if (stored.channels == 2) stored = limited_to_bytes(stored);
  return {std::move(stored), orientation_of(decoder)};
}

}  // namespace smelt
