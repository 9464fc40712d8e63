// Text files as token files, encoded by the tokenizer in the model's directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compiler/cli/shared/model.h"

namespace smelt::cli {

/// The given files, with texts replaced by token files of llm.c's form. These files are deleted with this
/// object; mappings of them stay valid. Files are unchanged where the model's tokens are bytes or it has no
/// tokenizer.
class EncodedFiles {
 public:
  EncodedFiles(const Model& model, const std::vector<std::string>& files);

  const std::vector<std::filesystem::path>& paths() const { return paths_; }

 private:
  /// Deletes its files.
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
