#include "frontend/data/images/image_processor.h"

#include <algorithm>
#include <cmath>

#include "runtime/system/file.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "preprocessor_config.json";
constexpr int64_t kLargestSide = 1 << 14;

/// A type of processors, by the begin of its names, and the values of fields that its files may leave out.
struct ProcessorRow {
  std::string_view name;
  const char* defaults;
};

constexpr std::array<ProcessorRow, 2> kProcessors = {
    {{"ViT", R"({"size": 224, "resample": 2, "do_center_crop": false, "crop_size": null})"},
     {"DeiT", R"({"size": 256, "resample": 3, "do_center_crop": true, "crop_size": 224})"}}};

/// Fields that are read, and those that do not change the values of an image.
constexpr std::array<std::string_view, 11> kRead = {
    "do_resize",  "size",           "default_to_square", "resample",   "do_center_crop", "crop_size",
    "do_rescale", "rescale_factor", "do_normalize",      "image_mean", "image_std"};
constexpr std::array<std::string_view, 8> kWithoutEffect = {"image_processor_type", "feature_extractor_type",
                                                            "processor_class",      "_valid_processor_keys",
                                                            "do_convert_rgb",       "data_format",
                                                            "return_tensors",       "model_input_names"};

/// The fields of a file, with the defaults of its type.
class Fields {
 public:
  Fields(const Json& config, std::string file) : file_(std::move(file)) {
    if (!config.is_object()) fail_with(Status::invalid_file, "'{}': expected a JSON object", file_);
    fields_ = Json::parse(defaults_of(config));
    for (const auto& [name, value] : config.items()) {
      require_known(name, value);
      fields_[name] = value;
    }
  }

  template <typename T>
  [[noreturn]] void refuse(const std::string& name, const T& expected) const {
    fail_with(Status::invalid_file, "'{}': {} is {}: expected {}", file_, name, brief(at(name)), expected);
  }
  Json at(const std::string& name) const { return fields_.contains(name) ? fields_[name] : Json(); }

  bool flag(const std::string& name, bool otherwise) const {
    const Json value = at(name);
    if (!value.is_null() && !value.is_boolean()) refuse(name, "true or false");
    return value.is_null() ? otherwise : value.get<bool>();
  }
  double number(const std::string& name, double otherwise) const {
    const Json value = at(name);
    if (!value.is_null() && !value.is_number()) refuse(name, "a number");
    return value.is_null() ? otherwise : value.get<double>();
  }
  /// A number per channel, or one for all.
  std::vector<double> numbers(const std::string& name, int64_t count) const {
    const Json value = at(name);
    if (value.is_null()) return std::vector<double>(static_cast<size_t>(count), 0.5);
    if (value.is_number()) return std::vector<double>(static_cast<size_t>(count), value.get<double>());
    const auto is_number = [](const Json& each) { return each.is_number(); };
    if (!value.is_array() || std::ssize(value) != count || !std::ranges::all_of(value, is_number))
      refuse(name, fmt::format("{} numbers, one per channel", count));
    return value.get<std::vector<double>>();
  }
  /// `square`: a number is the side of a square, and not the shortest edge.
  ImageSize size(const std::string& name, bool square = true) const {
    const Json value = at(name);
    if (value.is_number_integer() && !square) return {0, 0, side(name, value)};
    if (value.is_number_integer()) return {side(name, value), side(name, value), 0};
    if (value.is_object() && value.contains("height") && value.contains("width"))
      return {side(name, value["height"]), side(name, value["width"]), 0};
    if (value.is_object() && value.size() == 1 && value.contains("shortest_edge"))
      return {0, 0, side(name, value["shortest_edge"])};
    refuse(name, "a number, height and width, or shortest_edge");
  }

 private:
  const char* defaults_of(const Json& config) const {
    for (const char* field : {"image_processor_type", "feature_extractor_type"}) {
      if (!config.contains(field) || !config[field].is_string()) continue;
      const std::string type = config[field].get<std::string>();
      for (const ProcessorRow& row : kProcessors)
        for (const char* end :
             {"ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor"})
          if (type == std::string(row.name) + end) return row.defaults;
      fail_with(Status::invalid_file, "'{}': {} is '{}': expected ViTImageProcessor or DeiTImageProcessor",
                file_, field, type);
    }
    return kProcessors[0].defaults;
  }

  /// A field that is not read must say that its step is left out.
  void require_known(const std::string& name, const Json& value) const {
    const bool known = std::ranges::find(kRead, name) != kRead.end() ||
                       std::ranges::find(kWithoutEffect, name) != kWithoutEffect.end();
    if (!known && !value.is_null() && value != Json(false))
      fail_with(
          Status::invalid_file,
          "'{}': the field '{}' ({}) is not known: expected null or false; for other steps, make a data "
          "set of records (docs/guides/data.md)",
          file_, name, brief(value));
  }

  int64_t side(const std::string& name, const Json& value) const {
    if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > kLargestSide)
      refuse(name, fmt::format("sides from 1 to {}", kLargestSide));
    return value.get<int64_t>();
  }

  Json fields_;
  std::string file_;
};

/// Bytes outside of the image are 0.
Image cropped(const Image& image, const ImageSize& size) {
  const auto half = [](int64_t difference) {
    return difference >= 0 ? difference / 2 : -((1 - difference) / 2);
  };
  const int64_t top = half(image.height - size.height), left = half(image.width - size.width);
  Image made(size.width, size.height, image.channels);
  const int64_t begin = std::max<int64_t>(0, -left), end = std::min(size.width, image.width - left);
  for (int64_t y = std::max<int64_t>(0, -top); y < std::min(size.height, image.height - top); ++y)
    std::copy_n(image.row(y + top) + (begin + left) * image.channels, (end - begin) * image.channels,
                made.row(y) + begin * image.channels);
  return made;
}

}  // namespace

ImageProcessor::ImageProcessor(int64_t channels, ImageSize size) : channels_(channels), size_(size) {
  check_image_channels(channels);
  const std::vector<double> half(static_cast<size_t>(channels), 0.5);
  make_table(half, half);
}

ImageProcessor::ImageProcessor(int64_t channels, const Json& config, const std::string& file)
    : channels_(channels) {
  check_image_channels(channels);
  const Fields fields(config, file);
  if (fields.flag("do_resize", true)) {
    size_ = fields.size("size", fields.flag("default_to_square", true));
    const Json resample = fields.at("resample");
    const auto filter =
        resample.is_number_integer() ? image_filter_of(resample.get<int64_t>()) : std::nullopt;
    if (!filter) fields.refuse("resample", "1 (lanczos), 2 (bilinear), 3 (bicubic), 4 (box) or 5 (hamming)");
    filter_ = *filter;
  }
  if (fields.flag("do_center_crop", false)) {
    crop_ = fields.size("crop_size");
    if (crop_->shortest_edge > 0) fields.refuse("crop_size", "height and width");
  }
  scale_ = fields.number("rescale_factor", 1.0 / 255);
  if (!fields.flag("do_rescale", true)) scale_.reset();
  normalizes_ = fields.flag("do_normalize", true);
  const std::vector<double> deviation = fields.numbers("image_std", channels);
  if (std::ranges::any_of(deviation, [](double each) { return static_cast<float>(each) == 0; }))
    fields.refuse("image_std", "numbers other than 0");
  make_table(fields.numbers("image_mean", channels), deviation);
}

/// Rescales in double precision and normalises in single precision, as transformers does.
void ImageProcessor::make_table(const std::vector<double>& mean, const std::vector<double>& deviation) {
  table_.resize(static_cast<size_t>(channels_));
  for (size_t c = 0; c < table_.size(); ++c)
    for (size_t byte = 0; byte < table_[c].size(); ++byte) {
      const auto value = static_cast<float>(static_cast<double>(byte) * scale_.value_or(1));
      const auto center = static_cast<float>(mean[c]), unit = static_cast<float>(deviation[c]);
      table_[c][byte] = normalizes_ ? (value - center) / unit : value;
    }
}

std::optional<ImageSize> ImageProcessor::made_size() const {
  if (crop_) return crop_;
  return size_ && size_->shortest_edge == 0 ? size_ : std::nullopt;
}

Image ImageProcessor::resized(const Image& image) const {
  if (!size_) return image;
  int64_t height = size_->height, width = size_->width;
  if (const int64_t edge = size_->shortest_edge; edge > 0) {
    const int64_t shorter = std::min(image.width, image.height);
    const auto scaled = [&](int64_t side) {
      return static_cast<int64_t>(static_cast<double>(edge * side) / static_cast<double>(shorter));
    };
    height = scaled(image.height), width = scaled(image.width);
    if (width > kMostPixels / height)
      fail_with(Status::invalid_file,
                "its size is {} x {}, whose shortest edge of {} makes it larger than {} pixels", image.width,
                image.height, edge, kMostPixels);
  }
  return resize(image, width, height, filter_);
}

void ImageProcessor::process(const Image& image, int64_t height, int64_t width, std::span<float> out) const {
  const Image sized = resized(image);
  const Image made = crop_ ? cropped(sized, *crop_) : sized;
  if (made.height != height || made.width != width)
    fail_with(Status::invalid_file, "its size is {} x {}: expected {} x {}, because images are not resized",
              made.width, made.height, width, height);
  for (int64_t c = 0; c < channels_; ++c) {
    const auto& values = table_[static_cast<size_t>(c)];
    const uint8_t* in = made.pixels.data() + c;
    float* to = out.data() + c * height * width;
    for (int64_t i = 0; i < height * width; ++i) to[i] = values[in[i * channels_]];
  }
}

std::string ImageProcessor::key() const {
  Checksum sum;
  const auto add_size = [&](const std::optional<ImageSize>& size) {
    const ImageSize each = size.value_or(ImageSize{});
    const int64_t numbers[] = {each.height, each.width, each.shortest_edge};
    sum.add(std::as_bytes(std::span(numbers)));
  };
  add_size(size_), add_size(crop_);
  sum.add(std::as_bytes(std::span(&filter_, 1)));
  for (const auto& values : table_) sum.add(std::as_bytes(std::span(values)));
  return sum.hex();
}

ImageProcessor image_processor_of(const fs::path& model, int64_t channels, int64_t height, int64_t width) {
  const fs::path file = model / kFile;
  if (!fs::is_regular_file(file)) return {channels, ImageSize{height, width, 0}};
  ImageProcessor processor(channels, read_json_file(file), file.string());
  const auto made = processor.made_size();
  if (made && (made->height != height || made->width != width))
    fail_with(Status::invalid_file,
              "'{}' makes images of {} x {}, but the model takes {} x {}: correct its {}", file.string(),
              made->width, made->height, width, height, "size or crop_size");
  return processor;
}

}  // namespace smelt
