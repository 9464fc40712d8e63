// Texts as token files, by the tokenizer that is beside a model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compiler/cli/model.h"

namespace smelt::cli {

/// The given files, but texts as token files of llm.c's form, which are gone when this is: who has mapped
/// them by then keeps what they hold. The same files where the model's tokens are bytes or it has no
/// tokenizer.
class EncodedFiles {
 public:
  EncodedFiles(const Model& model, const std::vector<std::string>& files);

  const std::vector<std::filesystem::path>& paths() const { return paths_; }

 private:
  /// Takes its files with it.
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
