#include "runtime/ranks/shared_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "runtime/base/error.h"
#include "runtime/ranks/hmac.h"
#include "runtime/ranks/socket.h"

namespace smelt {
namespace {

[[noreturn]] void fail_region(std::string_view what, size_t bytes, int error) {
  fail_with(
      error == ENOSPC || error == ENOMEM ? Status::out_of_memory : Status::io,
      "{} MiB of memory shared between ranks cannot be {} ({}): /dev/shm must have room for them (Docker: "
      "--shm-size) and be common to the ranks of a host",
      (bytes >> 20) + 1, what, std::strerror(error));
}

/// Allocates the memory now, because a full /dev/shm would otherwise kill the first process that writes to
/// it.
int allocate(int descriptor, size_t bytes) {
  int error;
  do error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  while (error == EINTR);
  return error;
}

}  // namespace

SharedRegion SharedRegion::map(int descriptor, size_t bytes) {
  const int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (data == MAP_FAILED) fail_region("mapped", bytes, errno);
  return {static_cast<std::byte*>(data), bytes};
}

SharedRegion SharedRegion::create(const std::string& name, size_t bytes) {
  const Socket file(::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) fail_region("made", bytes, errno);
  const int error = allocate(file.descriptor(), bytes);
  if (error == 0) return map(file.descriptor(), bytes);
  unlink(name);
  fail_region("made", bytes, error);
}

SharedRegion SharedRegion::open(const std::string& name, size_t bytes) {
  const Socket file(::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0));
  if (!file.is_open()) fail_region("opened", bytes, errno);
  return map(file.descriptor(), bytes);
}

SharedRegion SharedRegion::of_one_process(size_t bytes) { return map(-1, bytes); }

void SharedRegion::unlink(const std::string& name) { ::shm_unlink(name.c_str()); }

std::string SharedRegion::new_name() { return "/smelt-" + hex(random_bytes()); }

SharedRegion::~SharedRegion() {
  if (data_) ::munmap(data_, size_);
}

std::string host_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot.empty() ? host_name() : boot;
}

}  // namespace smelt
