#include "runtime/engine/data/image_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/error.h"
#include "runtime/base/in_parallel.h"

namespace smelt {
namespace {

constexpr const char *kPixelValues = "pixel_values", *kImageLabels = "labels";

const Port& port_of_images(const PlanEntry& entry, std::string_view name, std::string_view expected) {
  const auto found = std::ranges::find(entry.inputs, name, &Port::name);
  if (found == entry.inputs.end())
    fail("entry '{}' has no input {}: images need a model with {}", entry.name, name, expected);
  return *found;
}

int64_t elements_of(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

ImageData::ImageData(std::shared_ptr<const ImageList> images, const PlanEntry& entry)
    : images_(std::move(images)) {
  check_pixels(entry);
  check_labels(entry);
}

void ImageData::check_pixels(const PlanEntry& entry) const {
  const Port& port = port_of_images(entry, kPixelValues, "pixel_values f32[B,C,H,W]");
  const std::vector<int64_t> shape = images_->shape();
  bool fits = port.dtype == DType::f32 && port.shape.size() == shape.size() + 1;
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = port.shape[i + 1].constant() == shape[i];
  if (!fits)
    fail("{}: images of {} x {} x {} do not fit the input {} {}{} of entry '{}'", description(), shape[0],
         shape[1], shape[2], kPixelValues, name(port.dtype), str(port.shape), entry.name);
}

void ImageData::check_labels(const PlanEntry& entry) const {
  const Port& port = port_of_images(entry, kImageLabels, "labels i32[B]");
  if (port.dtype != DType::i32 || port.shape.size() != 1)
    fail("{}: an image has one class, and entry '{}' takes labels {}{}: expected a model with labels i32[B]",
         description(), entry.name, name(port.dtype), str(port.shape));
  for (int64_t image = 0; port.ids && image < size(); ++image)
    if (const int32_t label = images_->label(image); !port.ids->holds(label))
      fail("{}: an image has the label {}: expected {}", description(), label, str(*port.ids));
}

std::vector<int64_t> ImageData::pixel_shape(int64_t rows) const {
  std::vector<int64_t> shape = images_->shape();
  shape.insert(shape.begin(), rows);
  return shape;
}

void ImageData::read(std::span<const int64_t> rows, Batch& batch) const {
  batch.clear();
  batch.tokens = std::ssize(rows);
  auto* pixels = reinterpret_cast<float*>(batch.add(kPixelValues, DType::f32, pixel_shape(std::ssize(rows))));
  const auto each = static_cast<size_t>(elements_of(images_->shape()));
  in_parallel(rows.size(), [&](size_t i) { images_->read(rows[i], {pixels + i * each, each}); });
  auto* labels = reinterpret_cast<int32_t*>(batch.add(kImageLabels, DType::i32, {std::ssize(rows)}));
  for (const int64_t row : rows) *labels++ = images_->label(row);
}

std::vector<InputTensor> ImageData::largest(int64_t rows) const {
  return {{kPixelValues, DType::f32, pixel_shape(rows), nullptr},
          {kImageLabels, DType::i32, {rows}, nullptr}};
}

}  // namespace smelt
