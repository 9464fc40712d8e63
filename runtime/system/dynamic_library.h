// Libraries that are loaded only where they are needed: the CUDA driver, NVRTC, cuBLASLt.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// A loaded library. It stays loaded for the life of the process, because its allocations need their owner.
class DynamicLibrary {
 public:
  /// Returns the first of `names` that the loader finds by itself, in $CUDA_HOME or in the toolkit's usual
  /// places. Throws Error (unavailable) with `what` and all places that were searched.
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

/// Returns the folders, in addition to the loader's own, that are searched for toolkit libraries.
std::vector<std::string> toolkit_folders();

}  // namespace smelt
