// parse_safetensors: a length, a JSON header, then the data of all tensors without holes.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>

#include "runtime/engine/weights/packed/scaled_rows.h"
#include "runtime/engine/weights/safetensors.h"
#include "runtime/engine/weights/safetensors_types.h"
#include "runtime/system/file_kind.h"
#include "runtime/system/json_sax.h"

namespace smelt {
namespace {

constexpr uint64_t kLengthBytes = 8, kLongestHeader = 100'000'000;

/// A tensor as the header declares it.
struct Declared {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<uint64_t>> shape, offsets;
};

class HeaderReader : public StrictSax {
 public:
  using StrictSax::StrictSax;

  std::vector<Declared> tensors;
  std::map<std::string, std::string> metadata;

  bool start_object(size_t) override {
    if (where_ == Where::start) return to(Where::top);
    if (where_ == Where::tensor_value) return to(Where::tensor);
    if (where_ == Where::metadata_value) return to(Where::metadata);
    return unexpected("an object");
  }

  bool end_object() override {
    if (where_ == Where::top) return to(Where::end);
    if (where_ == Where::tensor) require_complete();
    return to(Where::top);
  }

  bool key(std::string& key) override {
    if (where_ == Where::top) return top_key(key);
    if (where_ == Where::metadata) {
      if (metadata.count(key) != 0) refuse(fmt::format("the key '{}' appears twice", key));
      metadata_key_ = key;
      return to(Where::metadata_string);
    }
    return field_key(key);
  }

  bool string(std::string& text) override {
    if (where_ == Where::metadata_string) {
      metadata[metadata_key_] = text;
      return to(Where::metadata);
    }
    if (where_ != Where::dtype) return unexpected("a string");
    tensors.back().dtype = text;
    return to(Where::tensor);
  }

  bool start_array(size_t) override {
    if (where_ == Where::shape || where_ == Where::offsets) {
      if (numbers_) return unexpected("an array");
      numbers_.emplace();
      return true;
    }
    return unexpected("an array");
  }

  bool number_unsigned(uint64_t number) override {
    if (!numbers_) return unexpected("a number");
    numbers_->push_back(number);
    return true;
  }

  bool end_array() override {
    (where_ == Where::shape ? tensors.back().shape : tensors.back().offsets) = std::move(numbers_);
    numbers_.reset();
    return to(Where::tensor);
  }

 private:
  enum class Where {
    start,
    top,
    metadata_value,
    metadata,
    metadata_string,
    tensor_value,
    tensor,
    dtype,
    shape,
    offsets,
    end
  };

  bool to(Where where) {
    where_ = where;
    return true;
  }

  bool top_key(const std::string& key) {
    if (!names_.insert(key).second) refuse(fmt::format("the key '{}' appears twice", key));
    if (key == "__metadata__") return to(Where::metadata_value);
    tensors.push_back({key, {}, {}, {}});
    return to(Where::tensor_value);
  }

  bool field_key(const std::string& key) {
    const Declared& tensor = tensors.back();
    if (key == "dtype" && !tensor.dtype) return to(Where::dtype);
    if (key == "shape" && !tensor.shape) return to(Where::shape);
    if (key == "data_offsets" && !tensor.offsets) return to(Where::offsets);
    const bool known = key == "dtype" || key == "shape" || key == "data_offsets";
    refuse(fmt::format("the key '{}' {}", key,
                       known ? "appears twice" : "is unknown: expected dtype, shape and data_offsets"));
  }

  void require_complete() {
    const Declared& tensor = tensors.back();
    const char* missing = !tensor.dtype     ? "dtype"
                          : !tensor.shape   ? "shape"
                          : !tensor.offsets ? "data_offsets"
                                            : "";
    if (*missing) refuse(fmt::format("'{}' is missing: expected dtype, shape and data_offsets", missing));
    if (tensor.offsets->size() != 2)
      refuse(fmt::format("data_offsets has {} numbers: expected [begin, end]", tensor.offsets->size()));
  }

  std::string place() const override {
    switch (where_) {
      case Where::start:
        return "expected the header to be one JSON object";
      case Where::metadata_value:
      case Where::metadata:
      case Where::metadata_string:
        return "__metadata__, expected an object of strings";
      case Where::top:
      case Where::end:
        return "header";
      case Where::dtype:
        return tensor_place() + ": dtype, expected a string";
      case Where::shape:
        return tensor_place() + ": shape, expected an array of integers of at least 0";
      case Where::offsets:
        return tensor_place() + ": data_offsets, expected [begin, end]";
      default:
        return tensor_place() + ", expected an object";
    }
  }
  std::string tensor_place() const { return fmt::format("tensor '{}'", tensors.back().name); }

  [[noreturn]] void refuse(const std::string& what) const {
    const bool inside = where_ != Where::top && where_ != Where::metadata;
    fail_with(Status::invalid_file, "'{}': {}{}", file_, inside ? tensor_place() + ": " : "", what);
  }

  Where where_ = Where::start;
  std::set<std::string> names_;
  std::string metadata_key_;
  std::optional<std::vector<uint64_t>> numbers_;
};

constexpr std::string_view kSafetensors = "a safetensors file";

/// The header's text; the bytes after it are data.
std::string_view header_text(std::span<const std::byte> file, std::string_view name) {
  if (file.size() < kLengthBytes)
    fail_with(Status::invalid_file,
              "'{}' has {} bytes: expected a safetensors file, which has at least 8 (is it cut off?)", name,
              file.size());
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= static_cast<uint64_t>(file[i]) << (8 * i);
  const auto kind = file_kind(file, name);
  if (kind && kind->name != kSafetensors)
    fail_with(Status::invalid_file, "{}", wrong_kind(name, *kind, kSafetensors));
  if (length > kLongestHeader)
    fail_with(Status::invalid_file,
              "'{}': a header of {} bytes: expected at most {} (is it a safetensors file?)", name, length,
              kLongestHeader);
  if (length > file.size() - kLengthBytes)
    fail_with(Status::invalid_file, "'{}': a header of {} bytes, but {} follow: the file is cut off", name,
              length, file.size() - kLengthBytes);
  return {reinterpret_cast<const char*>(file.data()) + kLengthBytes, static_cast<size_t>(length)};
}

struct Placed {
  TensorView view;
  uint64_t begin, end;
};

/// Type, size and place of one tensor, each checked against the others.
Placed place(const Declared& declared, std::span<const std::byte> data, std::string_view file) {
  const auto refuse = [&](const std::string& what) {
    fail_with(Status::invalid_file, "'{}': tensor '{}': {}", file, declared.name, what);
  };
  const bool is_float8 = *declared.dtype == kFloat8Name;
  const auto dtype = is_float8 ? DType::u8 : safetensors_dtype(*declared.dtype);
  if (!dtype) refuse(fmt::format("dtype {}: expected one of {}", *declared.dtype, safetensors_dtype_names()));
  Placed placed{{declared.name, *dtype, {}, {}}, (*declared.offsets)[0], (*declared.offsets)[1]};
  uint64_t bytes = static_cast<uint64_t>(size_of(*dtype));
  for (const uint64_t extent : *declared.shape) {
    if (extent > INT64_MAX || __builtin_mul_overflow(bytes, extent, &bytes) || bytes > INT64_MAX)
      refuse("its size overflows 63 bits: expected a shape that fits the file");
    placed.view.shape.push_back(static_cast<int64_t>(extent));
  }
  const std::string range = fmt::format("data_offsets [{}, {}]", placed.begin, placed.end);
  if (placed.begin > placed.end) refuse(range + ": expected begin <= end");
  if (placed.end > data.size())
    refuse(fmt::format("{}: expected an end within the {} bytes of data (is the file cut off?)", range,
                       data.size()));
  if (placed.end - placed.begin != bytes)
    refuse(fmt::format("{} holds {} bytes: expected {} for {}", range, placed.end - placed.begin, bytes,
                       describe(placed.view)));
  placed.view.bytes = data.subspan(placed.begin, bytes);
  if (is_float8) placed.view = float8_tensor(declared.name, placed.view.shape, placed.view.bytes);
  return placed;
}

void require_contiguous(const std::vector<Placed>& tensors, uint64_t data_bytes, std::string_view file) {
  uint64_t at = 0;
  for (const Placed& tensor : tensors) {
    if (tensor.begin != at)
      fail_with(Status::invalid_file,
                "'{}': tensor '{}' begins at {}: expected {}, the end of the one before ({})", file,
                tensor.view.name, tensor.begin, at, tensor.begin < at ? "they overlap" : "there is a hole");
    at = tensor.end;
  }
  if (at != data_bytes)
    fail_with(Status::invalid_file, "'{}': the tensors end at {}: expected {}, the end of the data", file, at,
              data_bytes);
}

}  // namespace

SafetensorsContents parse_safetensors(std::span<const std::byte> file, std::string_view file_name) {
  const std::string_view text = header_text(file, file_name);
  HeaderReader header(text, file_name);
  header.parse();
  const std::span<const std::byte> data = file.subspan(kLengthBytes + text.size());
  std::vector<Placed> placed;
  for (const Declared& tensor : header.tensors) placed.push_back(place(tensor, data, file_name));
  std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  require_contiguous(placed, data.size(), file_name);
  SafetensorsContents contents{{}, std::move(header.metadata)};
  for (Placed& tensor : placed) contents.tensors.push_back(std::move(tensor.view));
  return contents;
}

}  // namespace smelt
