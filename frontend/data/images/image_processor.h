// The steps from an image to the input of a model, as a preprocessor_config.json of Hugging Face describes
// them: resize, crop, rescale, normalise.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "frontend/data/images/resample.h"
#include "runtime/system/json_text.h"

namespace smelt {

/// A height and a width; or a shortest edge, of which both follow.
struct ImageSize {
  int64_t height = 0, width = 0;
  int64_t shortest_edge = 0;  // 0: height and width are given
};

/// Its constructors throw Error if `channels` is neither 1 nor 3.
class ImageProcessor {
 public:
  /// The defaults of ViTImageProcessor for images of this size: bilinear, [0, 1], mean and deviation 0.5.
  ImageProcessor(int64_t channels, ImageSize size);
  /// Reads the content of the file `file`. Throws Error that names the field which is unknown or not valid.
  ImageProcessor(int64_t channels, const Json& config, const std::string& file);

  int64_t channels() const { return channels_; }
  /// Returns the size that process() makes; nothing if it depends on the image.
  std::optional<ImageSize> made_size() const;
  /// Writes the values of an image, [channels, height, width], to `out`. Requires: image.channels ==
  /// channels(). Throws Error if the image becomes one of another size, which only images that are not
  /// resized do.
  void process(const Image& image, int64_t height, int64_t width, std::span<float> out) const;
  /// Returns a text that differs if an equal image may become other values.
  std::string key() const;

 private:
  /// Makes the value of each byte in each channel.
  void make_table(const std::vector<double>& mean, const std::vector<double>& deviation);
  Image resized(const Image& image) const;

  int64_t channels_;
  std::optional<ImageSize> size_, crop_;  // nothing: not resized, not cropped
  ImageFilter filter_ = ImageFilter::bilinear;
  std::optional<double> scale_ = 1.0 / 255;  // nothing: bytes are not rescaled
  bool normalizes_ = true;
  std::vector<std::array<float, 256>> table_;
};

/// Reads preprocessor_config.json in a model's directory; without one, returns the defaults for images of
/// this size.
ImageProcessor image_processor_of(const std::filesystem::path& model, int64_t channels, int64_t height,
                                  int64_t width);

}  // namespace smelt
