// JPEG by libjpeg: baseline and progressive; grey, YCbCr, RGB, CMYK and YCCK.
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <jpeglib.h>  // needs FILE

#include <jerror.h>  // needs the options in jpeglib.h

#include "frontend/data/images/image.h"

namespace smelt {
namespace {

constexpr int kExifMarker = JPEG_APP0 + 1, kMostScans = 500;
constexpr int64_t kMostPixelsPerJpegByte = 64 * 8;  // a block of 64 takes at least a bit
constexpr std::string_view kExifBegin{"Exif\0\0", 6};

/// Warnings after which pixels are missing or invented. libjpeg has others, such as of bytes between markers.
bool is_damage(int message) {
  switch (message) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
      return true;
    default:
      return false;
  }
}

/// State of a decoder with libjpeg's callbacks, which jump to `jump` at an error.
struct JpegDecoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf jump{};
  char message[JMSG_LENGTH_MAX] = {};

  JpegDecoder() {
    info.err = ::jpeg_std_error(&errors);
    info.client_data = this;
    errors.error_exit = [](j_common_ptr common) { of(common).stop(); };
    errors.output_message = [](j_common_ptr) {};
    errors.emit_message = [](j_common_ptr common, int level) {
      if (level < 0 && is_damage(common->err->msg_code)) of(common).stop();
    };
    progress.progress_monitor = [](j_common_ptr common) { of(common).check_scans(); };
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { ::jpeg_destroy_decompress(&info); }

  static JpegDecoder& of(j_common_ptr common) { return *static_cast<JpegDecoder*>(common->client_data); }

  [[noreturn]] void stop() {
    errors.format_message(reinterpret_cast<j_common_ptr>(&info), message);
    std::longjmp(jump, 1);
  }

  /// A file of many tiny scans takes minutes.
  void check_scans() {
    if (info.input_scan_number <= kMostScans) return;
    std::snprintf(message, sizeof message, "it has more than %d scans", kMostScans);
    std::longjmp(jump, 1);
  }
};

/// Runs calls of libjpeg; throws Error with its message if one of them fails. Requires: `calls` makes no
/// object with a destructor, because a jump skips it.
template <typename Calls>
void run_calls(JpegDecoder& decoder, Calls calls) {
  if (setjmp(decoder.jump) != 0) fail_with(Status::invalid_file, "JPEG: {}", decoder.message);
  calls();
}

int orientation_of(const jpeg_decompress_struct& info) {
  for (const auto* marker = info.marker_list; marker != nullptr; marker = marker->next) {
    const auto bytes = std::as_bytes(std::span(marker->data, marker->data_length));
    if (marker->marker == kExifMarker && bytes.size() > kExifBegin.size() &&
        std::memcmp(bytes.data(), kExifBegin.data(), kExifBegin.size()) == 0)
      return exif_orientation(bytes.subspan(kExifBegin.size()));
  }
  return 1;
}

void open(JpegDecoder& decoder, std::span<const std::byte> file) {
  run_calls(decoder, [&] {
    jpeg_decompress_struct& info = decoder.info;
    jpeg_create_decompress(&info);
    info.progress = &decoder.progress;
    ::jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    ::jpeg_save_markers(&info, kExifMarker, 0xffff);
    ::jpeg_read_header(&info, TRUE);
    if (info.num_components == 1)
      info.out_color_space = JCS_GRAYSCALE;
    else
      info.out_color_space = info.num_components == 4 ? JCS_CMYK : JCS_RGB;
  });
}

void read_rows(JpegDecoder& decoder, Image& stored) {
  run_calls(decoder, [&] {
    ::jpeg_start_decompress(&decoder.info);
    while (decoder.info.output_scanline < decoder.info.output_height) {
      JSAMPROW row = stored.row(decoder.info.output_scanline);
      ::jpeg_read_scanlines(&decoder.info, &row, 1);
    }
    ::jpeg_finish_decompress(&decoder.info);
  });
}

/// Returns a * b / 255, rounded.
uint32_t product(uint32_t a, uint32_t b) {
  const uint32_t sum = a * b + 128;
  return ((sum >> 8) + sum) >> 8;
}

/// Stored inverted, as Adobe's programs write CMYK: 255 is no ink.
Image colours_of_inks(const Image& inks) {
  Image made(inks.width, inks.height, 3);
  const uint8_t* in = inks.pixels.data();
  for (uint8_t* out = made.pixels.data(); out != made.pixels.data() + made.pixels.size(); out += 3, in += 4)
    for (int i = 0; i < 3; ++i) out[i] = static_cast<uint8_t>(in[3] - product(255u - in[i], in[3]));
  return made;
}

}  // namespace

DecodedImage decode_jpeg(std::span<const std::byte> file) {
  JpegDecoder decoder;
  open(decoder, file);
  const auto& info = decoder.info;
  check_image_size(info.image_width, info.image_height, file.size(),
                   info.arith_code ? kMostPixels : kMostPixelsPerJpegByte);
  if (info.num_components != 1 && info.num_components != 3 && info.num_components != 4)
    fail_with(Status::invalid_file, "JPEG: it has {} channels: expected 1, 3 or 4", info.num_components);
  DecodedImage decoded{Image(info.image_width, info.image_height, info.num_components), orientation_of(info)};
  read_rows(decoder, decoded.image);
  if (decoded.image.channels == 4) decoded.image = colours_of_inks(decoded.image);
  return decoded;
}

}  // namespace smelt
