// Loading of shared libraries at run time, when they are first needed: the CUDA driver, NVRTC, cuBLASLt.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/system/environment.h"

namespace smelt {

/// A loaded library. It is not unloaded before the process ends, because memory that it has allocated may
/// still be in use.
class DynamicLibrary {
 public:
  /// Loads the first of the file names `names` that is found in the search path of the dynamic loader, in
  /// toolkit_folders() or in package_folders(). Throws Error (unavailable) if none is found; the message has
  /// `what`, a description of the library, and the folders.
  DynamicLibrary(std::string_view what, std::span<const char* const> names);

  /// Returns the address of the function `name`. If the library has no such function, throws Error naming the
  /// library and the function.
  void* symbol(const char* name) const;
  /// Sets `function` to the address of the function `name`; throws as symbol() does.
  template <typename Function>
  void load(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }
  const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string what_, path_;
};

/// Returns the folders that are searched for CUDA libraries in addition to the path of the dynamic loader:
/// those of $CUDA_HOME and $CUDA_PATH, and the usual folders of the CUDA toolkit.
std::vector<std::string> toolkit_folders();

/// Returns the folders of NVIDIA's Python packages, such as nvidia-cuda-nvrtc: nvidia/*/lib in the
/// site-packages that contain this library, and in those of $VIRTUAL_ENV.
std::vector<std::string> package_folders(const Environment& environment = process_environment());

}  // namespace smelt
