// Encoding of text files to token files with the tokenizer in the model's directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compiler/cli/shared/model.h"

namespace smelt::cli {

/// Takes a list of data files, and replaces each text file by a temporary file of its tokens, in the format
/// of llm.c. The destructor deletes the temporary files; existing memory mappings of them stay valid. If the
/// model's tokens are bytes, or if the model has no tokenizer, no file is replaced.
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
