// Machine code from memory: a shared object that never touches a disk.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace smelt {

class SharedObject {
 public:
  /// Throws Error with the loader's reason.
  explicit SharedObject(std::span<const std::byte> image);
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject();

  /// Throws Error naming the symbol.
  void* symbol(const std::string& name) const;

 private:
  // Open as long as the object is loaded: the loader recognises objects by path, which is the descriptor's
  // number.
  int descriptor_ = -1;
  void* handle_ = nullptr;
};

}  // namespace smelt
