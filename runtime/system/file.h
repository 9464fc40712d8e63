// Files as a training run needs them: mapped for reading; replaced as a whole, or not at all, for writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

/// A file mapped read-only; moves, does not copy.
class MappedFile {
 public:
  MappedFile() = default;
  /// Throws Error (io) naming the path and the system's reason; only regular files are mapped.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// A file that is written as a whole or not at all. Until commit() it has no name, or, on file systems
/// without such files, the name of a temporary next to `path`; commit() flushes it to the disk and renames it
/// over `path`, so that a reader always sees either the old file or the new one, even after a full disk or a
/// kill.
///
/// Symbolic links are followed: the file that they lead to is replaced. A FIFO, a character device and a
/// descriptor of this process (/dev/stdout, /dev/fd/3) have no contents to replace: these are written to as
/// the bytes come.
class AtomicFile {
 public:
  /// Throws Error (io) if nothing can be written there. Removes temporaries of the same file that killed
  /// processes have left.
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  void open_unnamed();
  void open_named();
  /// Gives the unnamed file the temporary's name.
  void name_temporary();

  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
  bool is_stream_ = false;  // written to as the bytes come
  bool has_name_ = false;   // the temporary exists
};

/// Removes temporaries in `directory` that killed processes have left; those that are being written stay.
void remove_stale_temporaries(const std::filesystem::path& directory);

/// One AtomicFile with this text.
void write_file(const std::filesystem::path& path, std::string_view text);
/// The whole of a regular file as text; throws Error (io), also for a directory, a pipe or a device.
std::string read_text_file(const std::filesystem::path& path);
/// create_directories with an Error (io) that names the path.
void make_directories(const std::filesystem::path& path);

/// FNV-1a over 64-bit words (the tail byte by byte): it detects damage, but does not protect against an
/// adversary.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes);
  uint64_t value() const { return state_; }
  std::string hex() const;

 private:
  uint64_t state_ = 0xCBF29CE484222325u;
};

}  // namespace smelt
