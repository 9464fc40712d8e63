// Labelled images as one list, whose batches fit the inputs of an entry of a plan. Images are decoded when a
// batch is read, so memory holds those of one batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/data/held_back.h"
#include "runtime/plan/plan.h"
#include "runtime/session/batch.h"

namespace smelt {

/// A list of images with a class each.
class ImageList {
 public:
  virtual ~ImageList() = default;
  virtual int64_t size() const = 0;  // images
  virtual int32_t label(int64_t image) const = 0;
  /// Returns the shape of the values of an image: channels, height, width.
  virtual std::vector<int64_t> shape() const = 0;
  /// Writes the values of an image to `out`. May be called concurrently. Throws Error with the file's name if
  /// it cannot be read any more.
  virtual void read(int64_t image, std::span<float> out) const = 0;
  /// Returns a checksum of the images and labels.
  virtual std::string fingerprint() const = 0;
  /// Returns a description of the files, for messages.
  virtual const std::string& description() const = 0;
};

class ImageData {
 public:
  static constexpr const char* kItems = "images";
  /// Throws Error if the entry does not take such images and labels i32[B], or if a label is not valid for
  /// it.
  ImageData(std::shared_ptr<const ImageList> images, const PlanEntry& entry);

  int64_t size() const { return images_->size(); }
  const std::string& description() const { return images_->description(); }
  std::string fingerprint() const { return images_->fingerprint(); }
  /// Replaces the contents of `batch` by these images, which are decoded in parallel.
  void read(std::span<const int64_t> rows, Batch& batch) const;
  /// Returns the inputs of a batch of `rows` images, with null data.
  std::vector<InputTensor> largest(int64_t rows) const;

 private:
  std::vector<int64_t> pixel_shape(int64_t rows) const;
  void check_pixels(const PlanEntry& entry) const;
  void check_labels(const PlanEntry& entry) const;

  std::shared_ptr<const ImageList> images_;
};

using ImageRange = Part<ImageData>;

}  // namespace smelt
