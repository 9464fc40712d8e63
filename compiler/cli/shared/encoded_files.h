// Encoding of text files to token files with the tokenizer in the model's directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compiler/cli/shared/model.h"

namespace smelt::cli {

/// A list of data files in which each text file has been replaced by a temporary token file in the format of
/// llm.c. The destructor deletes the temporary files; memory mappings of them stay valid. The list is
/// unchanged if the model's tokens are bytes, or if the model has no tokenizer.
class EncodedFiles {
 public:
  EncodedFiles(const Model& model, const std::vector<std::string>& files);

  const std::vector<std::filesystem::path>& paths() const { return paths_; }

 private:
  /// A directory that is deleted by the destructor; none if the path is empty.
  struct Directory {
    Directory() = default;
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory();
    std::filesystem::path path;
  };
  std::filesystem::path encode(const Model& model, const std::filesystem::path& text);

  std::vector<std::filesystem::path> paths_;
  Directory made_;
};

}  // namespace smelt::cli
