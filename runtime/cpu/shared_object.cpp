#include "runtime/cpu/shared_object.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/error.h"

namespace smelt {
namespace {

void write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      fail_with(Status::io, "cannot put the plan's code into memory: {}", std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

}  // namespace

SharedObject::SharedObject(std::span<const std::byte> image) {
  descriptor_ = ::memfd_create("smelt-kernels", MFD_CLOEXEC);
  if (descriptor_ < 0)
    fail_with(Status::io, "cannot make a file in memory for the plan's code: {}", std::strerror(errno));
  try {
    write_all(descriptor_, image);
    const std::string path = fmt::format("/proc/self/fd/{}", descriptor_);
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_)
      fail_with(Status::invalid_file, "cannot load the plan's code: {}; compile the plan again", ::dlerror());
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

SharedObject::~SharedObject() {
  ::dlclose(handle_);
  ::close(descriptor_);
}

void* SharedObject::symbol(const std::string& name) const {
  void* address = ::dlsym(handle_, name.c_str());
  if (!address)
    fail_with(Status::invalid_file, "the plan's code has no kernel '{}'; compile the plan again", name);
  return address;
}

}  // namespace smelt
