// Files of images as the list of a training run: they are checked once, and decoded again for each batch.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "frontend/data/images/image_processor.h"
#include "runtime/engine/data/image_data.h"

namespace smelt {

/// The form of a model's images.
struct ImageShape {
  int64_t channels = 3, height = 0, width = 0;
};

/// A file as it is when a run begins, and its class.
struct ImageFile {
  std::filesystem::path path;
  int32_t label = 0;
  int64_t bytes = 0;  // size of the file
  int64_t time = 0;   // of its last change, in ticks of the file system's clock
  uint64_t sum = 0;   // checksum of its bytes; 0: not checked
};

/// Returns the file with its size and time. Throws Error (io) if it does not exist.
ImageFile find_image_file(const std::filesystem::path& path, int32_t label);

/// Decodes the files in parallel and sets their checksums. Returns a message for each file that is damaged,
/// and an empty text for the others. If `stops`, files after the first damaged ones may remain unchecked. The
/// results are stored in the cache directory, and are taken from there while no file changes; they are not
/// stored if a file could not be read, which may pass.
std::vector<std::string> check_images(std::span<ImageFile> files, const ImageProcessor& processor,
                                      const ImageShape& shape, bool stops);

/// Decodes one file and writes its values to `out`. Throws Error with the file's name.
void read_image(const ImageFile& file, const ImageProcessor& processor, const ImageShape& shape,
                std::span<float> out);

/// Does the same for several files, in parallel. `out`: [files, channels, height, width].
void read_image_files(std::span<const ImageFile> files, const ImageProcessor& processor,
                      const ImageShape& shape, std::span<float> out);

class ImageFiles : public ImageList {
 public:
  ImageFiles(std::vector<ImageFile> files, ImageProcessor processor, ImageShape shape,
             std::string description)
      : files_(std::move(files)),
        processor_(std::move(processor)),
        shape_(shape),
        description_(std::move(description)) {}

  int64_t size() const override { return std::ssize(files_); }
  int32_t label(int64_t image) const override { return files_[static_cast<size_t>(image)].label; }
  std::vector<int64_t> shape() const override { return {shape_.channels, shape_.height, shape_.width}; }
  void read(int64_t image, std::span<float> out) const override {
    read_image(files_[static_cast<size_t>(image)], processor_, shape_, out);
  }
  std::string fingerprint() const override;
  const std::string& description() const override { return description_; }

 private:
  std::vector<ImageFile> files_;
  ImageProcessor processor_;
  ImageShape shape_;
  std::string description_;
};

}  // namespace smelt
