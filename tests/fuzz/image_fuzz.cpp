// Any bytes as an image: an Error, or an image of the size that its header has, which is resized to a small
// one.
#include <vector>

#include "frontend/data/images/image_processor.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const smelt::ImageProcessor processor(3, smelt::ImageSize{16, 12, 0});
  std::vector<float> values(size_t{3} * 16 * 12);
  try {
    processor.process(smelt::decode_image(std::as_bytes(std::span(data, size)), 3), 16, 12, values);
  } catch (const smelt::Error&) {
  }
  return 0;
}
