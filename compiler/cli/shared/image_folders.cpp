#include "compiler/cli/shared/image_folders.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "compiler/cli/shared/class_names.h"
#include "runtime/base/error.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

constexpr size_t kShownNames = 8;
constexpr const char* kDescriptions[] = {"config.json", "spec.json", "model.ir"};

/// Returns "'a', 'b', ..." with the first of the names.
std::string some_names(const std::vector<std::string>& names) {
  const size_t shown = std::min(kShownNames, names.size());
  return fmt::format("'{}'{}",
                     fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), "', '"),
                     names.size() > shown ? ", ..." : "");
}

uint64_t mix_key(const ImageFile& file) {
  const std::string name = file.path.filename().string();
  Checksum sum;
  const uint64_t numbers[] = {file.sum, static_cast<uint64_t>(file.label)};
  sum.add(std::as_bytes(std::span(numbers)));
  sum.add(std::as_bytes(std::span(name)));
  return sum.value() * 0x9E3779B97F4A7C15u;  // the upper bits depend on all others
}

/// Mixes the classes, so that each part of the list has images of all. The order depends on the names and the
/// content of the files alone, and not on the directory that they are in.
std::vector<ImageFile> mixed(std::vector<ImageFile> files) {
  std::vector<std::pair<uint64_t, size_t>> order;  // ties keep the order of the files
  for (const ImageFile& file : files) order.emplace_back(mix_key(file), order.size());
  std::ranges::sort(order);
  std::vector<ImageFile> result;
  for (const auto& [key, index] : order) result.push_back(std::move(files[index]));
  return result;
}

bool holds_description(const std::filesystem::path& directory) {
  return std::ranges::any_of(
      kDescriptions, [&](const char* name) { return std::filesystem::is_regular_file(directory / name); });
}

const Port* pixel_port(const Plan& plan) {
  for (const PlanEntry& entry : plan.entries)
    for (const Port& port : entry.inputs)
      if (port.name == "pixel_values" && port.shape.size() == 4) return &port;
  return nullptr;
}

}  // namespace

std::optional<ImageShape> image_shape(const Model& model) {
  if (const TransformerSpec* spec = model.spec()) {
    if (spec->embedding.image_size == 0) return std::nullopt;
    return ImageShape{spec->embedding.channels, spec->embedding.image_size, spec->embedding.image_size};
  }
  const Port* port = model.plan ? pixel_port(*model.plan) : nullptr;
  if (port == nullptr) return std::nullopt;
  const auto side = [&](size_t i) { return port->shape[i].constant().value_or(0); };
  return ImageShape{side(1), side(2), side(3)};
}

std::filesystem::path image_directory(const Model& model) {
  if (model.description) return model.path;
  std::filesystem::path directory = model.named_weights;
  if (!directory.empty()) directory = model_path(directory);
  if (!std::filesystem::is_directory(directory)) directory = directory.parent_path();
  if (!directory.empty() && holds_description(directory)) return directory;
  fail(
      "'{}' is a plan, which has neither the preprocessor_config.json nor the names of the classes: give the "
      "model's directory in its place, or as --weights",
      model.path.string());
}

ImageFolders::ImageFolders(const Model& model, ImageFoldersOptions options)
    : options_(std::move(options)),
      shape_(image_shape(model).value()),
      processor_(image_processor_of(image_directory(model), shape_.channels, shape_.height, shape_.width)) {
  if (options_.data.empty()) fail("there is no data: name directories or files of images with --data");
  if (const TransformerSpec* spec = model.spec(); spec && spec->head.kind == HeadKind::image_classes)
    classes_ = spec->head.classes;
  const Listed train = list(options_.data), validation = list(options_.validation);
  number_classes(model, {&train, &validation});
  train_ = checked(train), validation_ = checked(validation);
  if (train_.empty())
    fail_with(Status::invalid_file, "'{}' has no image to train on; {} were skipped, the first: {}",
              options_.data.front(), skipped_, first_skipped_);
}

ImageFolders::Listed ImageFolders::list(const std::vector<std::string>& arguments) {
  Listed all;
  for (const std::string& argument : arguments) {
    ListedImages listed = list_images(argument, options_.label_field);
    if (others_ == 0) first_other_ = listed.first_other;
    others_ += listed.others;
    for (LabelledImage& image : listed.images) {
      if (image.fault.empty())
        all.push_back(std::move(image));
      else
        skip(image.fault);
    }
  }
  return all;
}

void ImageFolders::skip(const std::string& fault) {
  if (options_.bad_rows == BadRows::stop)
    fail_with(Status::invalid_file, "{} (--on-bad-row skip leaves such images out)", fault);
  if (skipped_++ == 0) first_skipped_ = fault;
}

/// Names in the model's directory are its classes; else the names of the data are numbered in their order,
/// which is that of their values if all are numbers.
void ImageFolders::number_classes(const Model& model, const std::vector<const Listed*>& lists) {
  class_names_ = class_names_of(image_directory(model));
  std::set<std::string> names;
  bool numbered = false;
  for (const Listed* images : lists)
    for (const LabelledImage& image : *images) {
      numbered |= image.number.has_value();
      if (!image.number) names.insert(*image.class_name);
    }
  if (!class_names_.empty() || names.empty()) return;
  if (numbered) fail("labels of images are texts in some rows and numbers in others: expected one kind");
  class_names_.assign(names.begin(), names.end());
  const auto value = [](const std::string& name) { return whole_number(name); };
  const auto is_number = [](const std::optional<int64_t>& number) { return number.has_value(); };
  if (std::ranges::all_of(class_names_, is_number, value)) std::ranges::stable_sort(class_names_, {}, value);
  if (classes_ > 0 && std::ssize(class_names_) > classes_)
    fail(
        "the images have {} classes ({}), but the model has {}: give its config.json an id2label, or its "
        "spec "
        "head.classes, of as many",
        class_names_.size(), some_names(class_names_), classes_);
}

/// Returns nothing if it is none of the model's classes.
std::optional<int32_t> ImageFolders::class_of(const LabelledImage& image) const {
  if (image.class_name) {
    const auto found = std::ranges::find(class_names_, *image.class_name);
    if (found != class_names_.end()) return static_cast<int32_t>(found - class_names_.begin());
  }
  const int64_t number = image.number.value_or(-1);
  const bool fits = number >= 0 && number < (classes_ > 0 ? classes_ : INT32_MAX);
  return fits ? std::optional(static_cast<int32_t>(number)) : std::nullopt;
}

/// Returns the message about an image of no class of the model.
std::string ImageFolders::without_class(const LabelledImage& image) const {
  const auto refused = [&](const std::string& label, const std::string& expected) {
    return fmt::format("'{}': its label is {}: expected {}", image.file.string(), label, expected);
  };
  if (!image.number) return refused("'" + *image.class_name + "'", "one of " + some_names(class_names_));
  return refused(std::to_string(*image.number),
                 classes_ > 0 ? fmt::format("a class from 0 to {}", classes_ - 1) : "a number from 0 on");
}

std::vector<ImageFile> ImageFolders::find(const Listed& images) {
  std::vector<ImageFile> files;
  for (const LabelledImage& image : images) {
    const auto number = class_of(image);
    try {
      if (number) files.push_back(find_image_file(image.file, *number));
    } catch (const Error& error) {
      skip(error.what());
    }
    if (!number) skip(without_class(image));
  }
  return files;
}

std::vector<ImageFile> ImageFolders::checked(const Listed& images) {
  std::vector<ImageFile> files = find(images), good;
  const auto faults = check_images(files, processor_, shape_, options_.bad_rows == BadRows::stop);
  for (size_t i = 0; i < files.size(); ++i) {
    if (faults[i].empty())
      good.push_back(std::move(files[i]));
    else
      skip(faults[i]);
  }
  return mixed(std::move(good));
}

ImageRange ImageFolders::range(std::vector<ImageFile> files, const PlanEntry& entry,
                               const std::string& source) const {
  auto list = std::make_shared<const ImageFiles>(std::move(files), processor_, shape_, "'" + source + "'");
  auto data = std::make_shared<const ImageData>(std::move(list), entry);
  return {data, 0, data->size()};
}

DataSplit ImageFolders::split(const PlanEntry& entry, const Symbols&, int64_t) const {
  const ImageRange train = range(train_, entry, options_.data.front());
  if (!options_.validation.empty()) return {train, range(validation_, entry, options_.validation.front())};
  const auto parts = smelt::split<ImageData>(train.data, nullptr, options_.held_back);
  return {parts.train, parts.held_back};
}

std::string ImageFolders::summary() const {
  const auto images = std::ssize(train_) + std::ssize(validation_);
  std::string text = fmt::format("data: {} images", images);
  if (skipped_ > 0)
    text += fmt::format("; {} of {} skipped, the first: {}", skipped_, skipped_ + images, first_skipped_);
  if (others_ > 0)
    text += fmt::format("; files left out for their endings: {}, the first: '{}'", others_, first_other_);
  if (!class_names_.empty()) text += fmt::format("\nclasses: {}", fmt::join(class_names_, ", "));
  return text;
}

}  // namespace smelt::cli
