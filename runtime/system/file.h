// File access: memory-mapped files, atomic replacement of files, text files and checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

/// A regular file that is mapped into memory for reading. It can be moved but not copied.
class MappedFile {
 public:
  MappedFile() = default;
  /// Maps the file. Throws Error (io) with the path and the reason if that fails or if `path` is no regular
  /// file.
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

/// A new version of the file `path`, which replaces the file in commit(). Until then, the data are in a file
/// without a name (O_TMPFILE). If the file system does not support such files, they are in a temporary file
/// in the same directory. commit() flushes the data to the disk and renames the file to `path`. So a reader
/// sees either the old file or all of the new one, even if the disk is full or the process is killed.
///
/// If `path` is a symbolic link, its target is replaced. A FIFO, a character device and a descriptor of this
/// process (/dev/stdout, /dev/fd/3) cannot be replaced, so write() writes to them directly.
class AtomicFile {
 public:
  /// Throws Error (io) if `path` cannot be written. Removes temporary files for `path` that were left by
  /// killed processes.
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Discards the data if commit() was not called.
  ~AtomicFile();

  /// Appends bytes. Throws Error (io) if that fails, as commit() does.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  void open_unnamed();
  void open_named();
  /// Links the unnamed file to the path `temporary_`.
  void name_temporary();

  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
  bool is_stream_ = false;  // `path_` cannot be replaced, and is written directly
  bool has_name_ = false;   // a file `temporary_` exists
};

/// Removes temporary files of AtomicFile in `directory`, except those that a process still writes.
void remove_stale_temporaries(const std::filesystem::path& directory);

/// Replaces the file by `text`, as an AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view text);
/// Returns the contents of a regular file. Throws Error (io) if it cannot be read, and for a directory, a
/// pipe or a device.
std::string read_text_file(const std::filesystem::path& path);
/// Creates the directory and its parents if they do not exist. Throws Error (io) naming the path.
void make_directories(const std::filesystem::path& path);

/// Checksum similar to FNV-1a, over 64-bit words and then the remaining bytes. It detects accidental damage,
/// but does not protect against an adversary.
class Checksum {
 public:
  /// Adds bytes. The result depends on how the bytes are divided over calls, unless every call but the last
  /// adds a multiple of 8 bytes.
  void add(std::span<const std::byte> bytes);
  uint64_t value() const { return state_; }
  /// Returns the value as 16 hexadecimal digits.
  std::string hex() const;

 private:
  uint64_t state_ = 0xCBF29CE484222325u;
};

}  // namespace smelt
