// Loading of machine code, a shared object, from memory. No file on a disk is written.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace smelt {

class SharedObject {
 public:
  /// Loads the ELF image of a shared object. Throws Error with the loader's reason.
  explicit SharedObject(std::span<const std::byte> image);
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject();

  /// Returns the address of the symbol. Throws Error with its name if there is none.
  void* symbol(const std::string& name) const;

 private:
  // Descriptor of the in-memory file. It stays open while the object is loaded: the loader identifies objects
  // by their path, which contains the number of the descriptor, and another object must not get that number.
  int descriptor_ = -1;
  void* handle_ = nullptr;
};

}  // namespace smelt
