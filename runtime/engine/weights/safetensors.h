// Weights on disk: one safetensors file, or shards named by model.safetensors.index.json. Files are
// untrusted: every rule of the format is checked before a byte of data is used.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/tensor.h"
#include "runtime/system/file.h"

namespace smelt {

/// One tensor, dense and row-major; its bytes belong to a mapped file or to the caller, of any alignment.
struct TensorView {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;

  int64_t elements() const { return static_cast<int64_t>(bytes.size()) / size_of(dtype); }
};

/// "F32 [768,2304]", as the files spell it.
std::string describe(const TensorView& tensor);

/// The contents of one file. Views point into `file`.
struct SafetensorsContents {
  std::vector<TensorView> tensors;  // in order of their place in the file
  std::map<std::string, std::string> metadata;
};

/// Checks and reads a whole file held in memory; `file_name` is for messages. Throws Error (invalid_file).
SafetensorsContents parse_safetensors(std::span<const std::byte> file, std::string_view file_name);

/// Values of an F32, F16, BF16 or F64 tensor as floats; `out` has exactly its number of elements.
void read_floats(const TensorView& tensor, std::span<float> out);
std::vector<float> read_floats(const TensorView& tensor);

/// All tensors of a model: from one file, or from a directory with model.safetensors or with an index and its
/// shards.
class Checkpoint {
 public:
  static Checkpoint open(const std::filesystem::path& directory_or_file);
  /// Tensors in memory, as if they had been read from `path`.
  static Checkpoint of(std::vector<HostTensor> tensors, std::filesystem::path path);
  /// Returns the tensors of all parts, such as a model's and an adapter's. If two parts have a tensor of the
  /// same name, the tensor of the later part is returned.
  static Checkpoint joined(std::vector<std::shared_ptr<const Checkpoint>> parts);

  /// Sorted by name.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  /// Null if there is none of that name.
  const TensorView* find(std::string_view name) const;
  /// Throws Error naming the file and the tensor.
  const TensorView& at(std::string_view name) const;
  std::vector<std::string> names() const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Returns the file or the index that it was opened from.
  const std::filesystem::path& path() const { return path_; }

 private:
  void open_index(const std::filesystem::path& index);
  void add_file(const std::filesystem::path& path);
  void sort();

  std::filesystem::path path_;
  std::vector<MappedFile> files_;
  std::vector<HostTensor> owned_;
  std::vector<std::shared_ptr<const Checkpoint>> parts_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// Writes a file that replaces `path` as a whole or not at all. Wider types come first, so that all data is
/// aligned.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace smelt
