#include "runtime/engine/weights/gguf/gguf_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <set>

#include "runtime/engine/weights/gguf/block_rows.h"
#include "runtime/engine/weights/gguf/block_types.h"
#include "runtime/engine/weights/gguf/gguf_reader.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr uint32_t kOldest = 2, kNewest = 3, kMostDims = 4;
constexpr uint64_t kLeastPair = 13, kLeastTensor = 32;  // bytes
constexpr const char* kAlignment = "general.alignment";

/// A tensor as the file declares it.
struct DeclaredTensor {
  std::string name;
  uint32_t type = 0;
  std::vector<int64_t> shape;
  uint64_t offset = 0, bytes = 0;
};

void check_version(GgufReader& file) {
  const auto version = file.number<uint32_t>();
  if (version > 0xFFFF) file.refuse("version {}: the file is big-endian, which is not read", version);
  if (version < kOldest || version > kNewest)
    file.refuse("version {}: expected {} or {} (write the file again with a newer converter)", version,
                kOldest, kNewest);
}

Json read_metadata(GgufReader& file, uint64_t pairs) {
  Json metadata = Json::object();
  for (uint64_t i = 0; i < pairs; ++i) {
    file.enter(fmt::format("metadata {} of {}", i + 1, pairs));
    const std::string key = file.text();
    file.enter(fmt::format("metadata '{}'", key));
    if (metadata.contains(key)) file.refuse("the key appears twice");
    metadata[key] = file.value(file.number<uint32_t>());
  }
  return metadata;
}

/// Sizes are stored with the innermost first.
std::vector<int64_t> read_shape(GgufReader& file) {
  const auto dims = file.number<uint32_t>();
  if (dims == 0 || dims > kMostDims) file.refuse("{} dims: expected 1 to {}", dims, kMostDims);
  std::vector<int64_t> shape;
  for (uint32_t i = 0; i < dims; ++i) {
    const auto size = file.number<uint64_t>();
    if (size == 0 || size > INT64_MAX) file.refuse("a size of {}: expected at least 1", size);
    shape.insert(shape.begin(), static_cast<int64_t>(size));
  }
  return shape;
}

uint64_t stored_bytes(const GgufReader& file, const DeclaredTensor& tensor, const GgufType& type) {
  if (tensor.shape.back() % type.elements != 0)
    file.refuse("rows of {} elements: expected a multiple of {}, the size of a block of {}",
                tensor.shape.back(), type.elements, type.name);
  int64_t elements = 1, bytes = 0;
  for (const int64_t size : tensor.shape)
    if (__builtin_mul_overflow(elements, size, &elements)) file.refuse("its size overflows 63 bits");
  if (__builtin_mul_overflow(elements / type.elements, type.bytes, &bytes))
    file.refuse("its size overflows 63 bits");
  return static_cast<uint64_t>(bytes);
}

DeclaredTensor read_tensor(GgufReader& file, uint64_t alignment) {
  DeclaredTensor tensor;
  tensor.name = file.text();
  file.enter(fmt::format("tensor '{}'", tensor.name));
  tensor.shape = read_shape(file);
  tensor.type = file.number<uint32_t>();
  tensor.offset = file.number<uint64_t>();
  const GgufType* type = find_gguf_type(tensor.type);
  if (!type)
    file.refuse("{} is not read: expected one of {} (quantise the model to one of these)",
                gguf_type_name(tensor.type), gguf_type_names());
  if (tensor.offset % alignment != 0)
    file.refuse("offset {}: expected a multiple of {}, the file's alignment", tensor.offset, alignment);
  tensor.bytes = stored_bytes(file, tensor, *type);
  return tensor;
}

std::vector<DeclaredTensor> read_tensors(GgufReader& file, uint64_t count, uint64_t alignment) {
  std::vector<DeclaredTensor> tensors;
  std::set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    file.enter(fmt::format("tensor {} of {}", i + 1, count));
    tensors.push_back(read_tensor(file, alignment));
    if (!names.insert(tensors.back().name).second) file.refuse("the name appears twice");
  }
  return tensors;
}

uint64_t alignment_of(GgufReader& file, const Json& metadata) {
  constexpr uint64_t kUsual = 32, kMost = uint64_t{1} << 20;
  const auto found = metadata.find(kAlignment);
  if (found == metadata.end()) return kUsual;
  const uint64_t alignment = found->is_number_unsigned() ? found->get<uint64_t>() : 0;
  if (alignment > kMost || !std::has_single_bit(alignment))
    file.refuse("{} is {}: expected a power of two", kAlignment, brief(*found));
  return alignment;
}

/// Tensors lie within the data, and do not overlap.
void check_places(GgufReader& file, const std::vector<DeclaredTensor>& tensors, uint64_t data_bytes) {
  std::vector<const DeclaredTensor*> order;
  for (const DeclaredTensor& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, {}, &DeclaredTensor::offset);
  uint64_t end = 0;
  for (const DeclaredTensor* tensor : order) {
    file.enter(fmt::format("tensor '{}'", tensor->name));
    if (tensor->offset > data_bytes || tensor->bytes > data_bytes - tensor->offset)
      file.refuse("{} bytes at offset {}: expected an end within the {} bytes of data (is the file cut off?)",
                  tensor->bytes, tensor->offset, data_bytes);
    if (tensor->offset < end)
      file.refuse("offset {} is within the tensor before, which ends at {}", tensor->offset, end);
    end = tensor->offset + tensor->bytes;
  }
}

TensorView view_of(const DeclaredTensor& tensor, std::span<const std::byte> data) {
  const GgufType& type = *find_gguf_type(tensor.type);
  const auto bytes = data.subspan(tensor.offset, tensor.bytes);
  if (!type.unpack) return {tensor.name, type.dtype, tensor.shape, bytes};
  return computed_tensor(tensor.name, type.dtype, tensor.shape, block_rows(type, tensor.shape, bytes));
}

}  // namespace

bool is_gguf(std::span<const std::byte> file) {
  return file.size() >= kMagic.size() && std::memcmp(file.data(), kMagic.data(), kMagic.size()) == 0;
}

bool is_gguf_file(const std::filesystem::path& path) {
  std::array<char, kMagic.size()> first{};
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream(path, std::ios::binary).read(first.data(), first.size());
  return is_gguf(std::as_bytes(std::span(first)));
}

Json read_gguf_metadata(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_gguf(file.bytes(), path.string()).metadata;
}

GgufContents parse_gguf(std::span<const std::byte> bytes, std::string_view file_name) {
  GgufReader file(bytes, file_name);
  if (!is_gguf(bytes)) file.refuse("no GGUF file: expected one that begins with 'GGUF'");
  file.number<uint32_t>();
  check_version(file);
  const uint64_t tensor_count = file.count(kLeastTensor, "tensors");
  const uint64_t pairs = file.count(kLeastPair, "pairs of metadata");
  GgufContents contents{read_metadata(file, pairs), {}};
  const uint64_t alignment = alignment_of(file, contents.metadata);
  const auto tensors = read_tensors(file, tensor_count, alignment);
  const uint64_t begin =
      std::min<uint64_t>(bytes.size(), (file.at() + alignment - 1) / alignment * alignment);
  check_places(file, tensors, bytes.size() - begin);
  for (const DeclaredTensor& tensor : tensors)
    contents.tensors.push_back(view_of(tensor, bytes.subspan(begin)));
  return contents;
}

}  // namespace smelt
