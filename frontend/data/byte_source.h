// Bytes of a file or of standard input, decompressed if they are those of gzip or zstd.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace smelt {

/// A sequence of bytes that is read once, from its begin to its end.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills the begin of `out` and returns the number of bytes; 0 at the end. Throws RowError, which ends the
  /// file, if compressed data are damaged or end too early, and Error (io) if they cannot be read.
  virtual size_t read(std::span<char> out) = 0;
};

/// Opens a file, or standard input if `path` is "-". The first bytes decide whether it is decompressed.
std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& path);

/// Bytes with a buffer, from which single bytes and lines are taken.
class BufferedBytes {
 public:
  explicit BufferedBytes(std::unique_ptr<ByteSource> source);
  /// Returns the next byte as 0 to 255, or -1 at the end.
  int get() {
    if (begin_ == end_ && !refill()) return -1;
    return static_cast<unsigned char>(buffer_[begin_++]);
  }
  /// Returns the next byte without taking it, or -1 at the end.
  int peek() {
    if (begin_ == end_ && !refill()) return -1;
    return static_cast<unsigned char>(buffer_[begin_]);
  }
  /// Replaces `line` by the next line without its end (\n or \r\n). Returns false at the end of the data. A
  /// line of more than `most` bytes is truncated to most + 1 bytes.
  bool get_line(std::string& line, size_t most);
  /// Appends up to `count` bytes to `text`, and returns their number.
  size_t append(std::string& text, size_t count);

 private:
  bool refill();

  std::unique_ptr<ByteSource> source_;
  std::string buffer_;
  size_t begin_ = 0, end_ = 0;
};

/// Returns a path of the same bytes that can be mapped into memory: `path` itself, or a temporary file if
/// `path` is compressed or standard input. The temporary file is removed by the destructor of SpooledFile.
class SpooledFile {
 public:
  explicit SpooledFile(const std::filesystem::path& path);
  SpooledFile(const SpooledFile&) = delete;
  SpooledFile& operator=(const SpooledFile&) = delete;
  ~SpooledFile();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool is_temporary_ = false;
};

}  // namespace smelt
