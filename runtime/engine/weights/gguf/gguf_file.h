// Reader of GGUF files, versions 2 and 3: metadata and tensors in one file. Files are untrusted: every rule
// of the format is checked before a byte of data is used.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/engine/weights/tensor_view.h"
#include "runtime/system/json_text.h"

namespace smelt {

/// The contents of one file. Views point into it.
struct GgufContents {
  Json metadata;  // object: the value of each key; a float has the shortest digits that mean it
  std::vector<TensorView> tensors;  // names and order of rows as stored; shapes are row-major
};

/// Returns whether a file with these first bytes is a GGUF file.
bool is_gguf(std::span<const std::byte> file);
/// Returns whether the path is that of a readable GGUF file.
bool is_gguf_file(const std::filesystem::path& path);

/// Checks and reads a whole file that is in memory. `file_name` is used in messages. Throws Error
/// (invalid_file) if the file breaks a rule of the format, or has a tensor of a type that is not read.
GgufContents parse_gguf(std::span<const std::byte> file, std::string_view file_name);
/// Returns the metadata of a file. Throws Error as parse_gguf does, or (io) if the file cannot be read.
Json read_gguf_metadata(const std::filesystem::path& path);

}  // namespace smelt
