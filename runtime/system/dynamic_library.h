// Libraries that are loaded only where they are needed: the CUDA driver, NVRTC, cuBLASLt.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// A loaded library. It stays loaded for the life of the process: what it allocated keeps an owner.
class DynamicLibrary {
 public:
  /// The first of `names` that the loader finds by itself, in $CUDA_HOME or in the toolkit's usual places.
  /// Throws Error (unavailable) with `what` and all places that were looked in.
  DynamicLibrary(std::string_view what, std::span<const char* const> names);

  /// Throws Error naming the library and the function.
  void* symbol(const char* name) const;
  template <typename Function>
  void load(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }
  const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string what_, path_;
};

/// Folders beside the loader's own in which toolkit libraries are looked for.
std::vector<std::string> toolkit_folders();

}  // namespace smelt
