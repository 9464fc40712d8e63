#include "runtime/system/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "runtime/error.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporarySuffix = ".smelt-partial";

[[noreturn]] void fail_io(std::string_view verb, const fs::path& path, int error) {
  const std::string reason = std::generic_category().message(error);
  const char* hint =
      error == ENOSPC ? "; free some space, the previous version of the file is untouched" : "";
  fail_with(Status::io, "cannot {} '{}': {}{}", verb, path.string(), reason, hint);
}

struct Descriptor {
  int number;
  explicit Descriptor(int number) : number(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

/// A pipe that nobody writes to would be waited for, and a device has no end: neither is opened.
struct RegularFile : Descriptor {
  struct stat info{};
  explicit RegularFile(const fs::path& path)
      : Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (number < 0) fail_io("open", path, errno);
    if (::fstat(number, &info) != 0) fail_io("inspect", path, errno);
    if (!S_ISREG(info.st_mode))
      fail_with(Status::io, "'{}' is not a regular file: expected one, not a directory, a pipe or a device",
                path.string());
  }
};

void sync_directory(const fs::path& directory) {
  const Descriptor d(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (d.number < 0) fail_io("open directory", directory, errno);
  // Some file systems do not sync directories and say EINVAL; the rename itself has happened.
  if (::fsync(d.number) != 0 && errno != EINVAL) fail_io("flush directory", directory, errno);
}

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

MappedFile::MappedFile(const fs::path& path) : path_(path) {
  const RegularFile file(path);
  if (file.info.st_size == 0) return;
  const auto size = static_cast<size_t>(file.info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (data == MAP_FAILED) fail_io("map", path, errno);
  data_ = static_cast<const std::byte*>(data);
  size_ = size;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  temporary_ = path_;
  temporary_ += fmt::format(".{}{}", ::getpid(), kTemporarySuffix);
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail_io("create", temporary_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 26));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_io("write", path_, written == 0 ? ENOSPC : errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail_io("flush", path_, errno);
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    fail_io("replace", path_, error);
  }
  sync_directory(directory_of(path_));
}

bool AtomicFile::is_temporary(const fs::path& path) { return path.string().ends_with(kTemporarySuffix); }

void write_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::string read_text_file(const fs::path& path) {
  const RegularFile file(path);
  std::string text(static_cast<size_t>(file.info.st_size), '\0');
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = ::read(file.number, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_io("read", path, errno);
    if (count == 0) text.resize(at);  // the file has become shorter
    at += static_cast<size_t>(count);
  }
  return text;
}

void make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_io("create directory", path, error.value());
}

void Checksum::add(std::span<const std::byte> bytes) {
  constexpr uint64_t kPrime = 0x100000001B3u;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    state_ = (state_ ^ word) * kPrime;
    state_ ^= state_ >> 29;  // the product alone never moves a high bit down
  }
  for (; i < bytes.size(); ++i) state_ = (state_ ^ static_cast<uint64_t>(bytes[i])) * kPrime;
}

std::string Checksum::hex() const { return fmt::format("{:016x}", state_); }

}  // namespace smelt
