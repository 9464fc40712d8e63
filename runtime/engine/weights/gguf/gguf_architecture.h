// GgufMetadata: the metadata of one file, and the table of its architecture.
#pragma once

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/engine/weights/gguf/architectures.h"
#include "runtime/engine/weights/gguf/gguf_file.h"

namespace smelt {

class GgufMetadata {
 public:
  /// Throws Error (invalid_file) if the architecture is unknown, or the file is a part of a model.
  GgufMetadata(const GgufContents& file, std::string_view file_name);

  const GgufArchitecture& architecture() const { return *architecture_; }
  /// Returns the value of a key, or of "<architecture>.<key>"; null if there is none.
  const Json* find(std::string_view key) const;
  const Json* own(std::string_view key) const;
  /// Returns the integer of "<architecture>.<key>"; `otherwise` if there is none. Throws Error if the value
  /// is no integer of at least 1.
  int64_t count(std::string_view key, int64_t otherwise) const;
  /// Returns the integer of a key that must be there.
  int64_t count(std::string_view key) const;
  /// Returns the tensor with its stored name; null if there is none.
  const TensorView* tensor(std::string_view name) const;
  const GgufContents& file() const { return file_; }

  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(Status::invalid_file, "'{}': {}", name_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  const GgufContents& file_;
  std::string name_, prefix_;
  const GgufArchitecture* architecture_ = nullptr;
};

}  // namespace smelt
