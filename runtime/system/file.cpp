#include "runtime/system/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "runtime/base/error.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporarySuffix = ".smelt-partial";
constexpr mode_t kMode = 0644;
constexpr int kMostLinks = 40;  // that one symbolic link leads through, as the system has it

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

/// A regular file. A pipe without a writer would block, and a device has no end: neither is opened.
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
  // Some file systems do not sync directories and return EINVAL; the rename itself has happened.
  if (::fsync(d.number) != 0 && errno != EINVAL) fail_io("flush directory", directory, errno);
}

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// Returns the number of this process's descriptor that a path names.
std::optional<int> descriptor_of(const fs::path& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  if (path.parent_path() != "/dev/fd" && path.parent_path() != "/proc/self/fd") return {};
  const std::string text = path.filename().string();
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// Returns the open descriptor of a stream, which has no contents to replace; -1 for any other path.
int open_stream(const fs::path& path) {
  const std::optional<int> own = descriptor_of(path);
  struct stat info{};
  if (!own && (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode))) return -1;
  if (S_ISDIR(info.st_mode)) fail_io("write", path, EISDIR);
  if (S_ISBLK(info.st_mode) || S_ISSOCK(info.st_mode))
    fail_with(Status::io, "'{}' is a block device or a socket: expected a file to write", path.string());
  const int opened = own ? ::fcntl(*own, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (opened < 0) fail_io("write", path, errno);
  return opened;
}

/// Returns whether no process writes the file: the lock that a writer holds ends with it.
bool is_stale(const fs::path& temporary) {
  const Descriptor file(::open(temporary.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file.number >= 0 && ::flock(file.number, LOCK_EX | LOCK_NB) == 0;
}

/// Temporaries of the file of this name, or of all where it is empty.
void remove_stale(const std::string& name, const fs::path& directory) {
  const std::string prefix = name.empty() ? name : name + ".";
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none)) {
    const std::string found = entry.path().filename().string();
    if (!found.starts_with(prefix) || !found.ends_with(kTemporarySuffix)) continue;
    if (is_stale(entry.path())) ::unlink(entry.path().c_str());
  }
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

AtomicFile::AtomicFile(const fs::path& path) : path_(path) {
  for (int links = 0; !descriptor_of(path_) && fs::is_symlink(path_); ++links) {
    if (links == kMostLinks) fail_io("write", path, ELOOP);
    path_ = directory_of(path_) / fs::read_symlink(path_);
  }
  descriptor_ = open_stream(path_);
  is_stream_ = descriptor_ >= 0;
  if (is_stream_) return;
  temporary_ = path_;
  temporary_ += fmt::format(".{}{}", ::getpid(), kTemporarySuffix);
  remove_stale(path_.filename().string(), directory_of(path_));
  open_unnamed();
  if (descriptor_ < 0) open_named();
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (has_name_) ::unlink(temporary_.c_str());
}

void AtomicFile::open_unnamed() {
  if (::access("/proc/self/fd", X_OK) == 0)  // through which it gets its name
    descriptor_ = ::open(directory_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
}

/// Another process may take the file for stale, and remove it, until it is locked.
void AtomicFile::open_named() {
  for (struct stat info{}; info.st_nlink == 0;) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
    if (descriptor_ < 0) fail_io("write", path_, errno);
    ::flock(descriptor_, LOCK_EX);
    if (::fstat(descriptor_, &info) != 0) fail_io("inspect", temporary_, errno);
  }
  has_name_ = true;
}

void AtomicFile::name_temporary() {
  const std::string unnamed = fmt::format("/proc/self/fd/{}", descriptor_);
  ::flock(descriptor_, LOCK_EX);
  ::unlink(temporary_.c_str());  // of a process of the same number that was killed
  if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0)
    fail_io("replace", path_, errno);
  has_name_ = true;
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
  if (is_stream_) {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail_io("write", path_, errno);
    return;
  }
  if (::fsync(descriptor_) != 0) fail_io("flush", path_, errno);
  if (!has_name_) name_temporary();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_io("replace", path_, errno);
  has_name_ = false;
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_io("replace", path_, errno);
  sync_directory(directory_of(path_));
}

void remove_stale_temporaries(const fs::path& directory) { remove_stale("", directory); }

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
