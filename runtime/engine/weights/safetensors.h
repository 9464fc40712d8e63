// Reader and writer of weights in the safetensors format: one file, or several files (shards) that are listed
// in model.safetensors.index.json. Files are untrusted: every rule of the format is checked before a byte of
// data is used.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/tensor.h"
#include "runtime/engine/weights/tensor_view.h"
#include "runtime/system/file.h"

namespace smelt {

/// The contents of one file. Views point into `file`.
struct SafetensorsContents {
  std::vector<TensorView> tensors;  // in the order of their data in the file
  std::map<std::string, std::string> metadata;
};

/// Checks and reads a whole file that is in memory. `file_name` is used in messages. Throws Error
/// (invalid_file) if the file breaks a rule of the format.
SafetensorsContents parse_safetensors(std::span<const std::byte> file, std::string_view file_name);

/// All tensors of a model. A checkpoint owns the bytes of its tensors, unless view() has made it.
class Checkpoint {
 public:
  /// Opens a GGUF file, whose tensors get the names of transformers; a safetensors file; an index
  /// (*.index.json) and its shards, or a directory that has model.safetensors or
  /// model.safetensors.index.json. Throws Error if a file is missing or invalid.
  static Checkpoint open(const std::filesystem::path& directory_or_file);
  /// Returns a checkpoint of tensors in memory. `path` is the result of path().
  static Checkpoint of(std::vector<HostTensor> tensors, std::filesystem::path path);
  /// Returns a checkpoint of tensors whose memory the caller owns, and must keep valid. `path` is the result
  /// of path().
  static Checkpoint view(std::vector<TensorView> tensors, std::filesystem::path path);
  /// Returns a checkpoint with the tensors of all parts, such as a model's and an adapter's. If two parts
  /// have a tensor of the same name, the result has the tensor of the later part. The result has no metadata.
  static Checkpoint joined(std::vector<std::shared_ptr<const Checkpoint>> parts);

  /// Returns all tensors, sorted by name.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  /// Returns null if there is no tensor of that name.
  const TensorView* find(std::string_view name) const;
  /// Returns the tensor of that name. Throws Error naming the file and the tensor if there is none.
  const TensorView& at(std::string_view name) const;
  std::vector<std::string> names() const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Returns a message for the user about what of the weights is not used as the model says; empty: nothing.
  const std::string& warning() const { return warning_; }
  /// Returns the path of the file or index that was opened; for joined(), the parts' paths with " + " between
  /// them.
  const std::filesystem::path& path() const { return path_; }

 private:
  void open_index(const std::filesystem::path& index);
  void add_file(const std::filesystem::path& path);
  void add_gguf(const std::filesystem::path& path);
  void unpack();
  void sort();

  std::filesystem::path path_;
  std::vector<MappedFile> files_;
  std::vector<HostTensor> owned_;
  std::vector<std::shared_ptr<const Checkpoint>> parts_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
  std::string warning_;
};

/// Writes a file, which replaces `path` as a whole or not at all. Tensors of wider types are written first,
/// so that all data is aligned. Throws Error if two tensors have the same name, or if the bytes of a tensor
/// do not fit its shape.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace smelt
