#include "frontend/data/byte_source.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "frontend/data/rows.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBuffer = size_t{1} << 18;  // bytes
constexpr int kPipe = 1 << 20;               // bytes, which is as many as a user may ask for
constexpr std::string_view kGzipMark = "\x1F\x8B", kZstdMark = "\x28\xB5\x2F\xFD";

[[noreturn]] void fail_damaged(const std::string& name, std::string_view what) {
  throw RowError(fmt::format("'{}': {}: the file is damaged or was cut off; make it anew", name, what), true);
}

/// The bytes of a file as they are stored.
class StoredBytes : public ByteSource {
 public:
  explicit StoredBytes(const fs::path& path) : path_(path) {
    is_standard_ = path == "-";
    descriptor_ = is_standard_ ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_with(Status::io, "cannot open '{}': {}", path.string(), std::strerror(errno));
    if (!is_standard_ && fs::is_directory(path))
      fail_with(Status::io, "'{}' is a directory: expected a file", path.string());
    widen_pipe();
  }
  ~StoredBytes() override {
    if (!is_standard_ && descriptor_ >= 0) ::close(descriptor_);
  }
  StoredBytes(const StoredBytes&) = delete;
  StoredBytes& operator=(const StoredBytes&) = delete;

  size_t read(std::span<char> out) override {
    for (;;) {
      const ssize_t count = ::read(descriptor_, out.data(), out.size());
      if (count >= 0) return static_cast<size_t>(count);
      if (errno != EINTR) fail_with(Status::io, "cannot read '{}': {}", path_.string(), std::strerror(errno));
    }
  }

 private:
  /// Lets the process at the other end write more bytes while this one computes. It fails, without effect,
  /// for what is no pipe.
  void widen_pipe() const { ::fcntl(descriptor_, F_SETPIPE_SZ, kPipe); }

  fs::path path_;
  int descriptor_ = -1;
  bool is_standard_ = false;
};

/// Bytes that were read to detect the format, then the rest.
class BytesAgain : public ByteSource {
 public:
  BytesAgain(std::string first, std::unique_ptr<ByteSource> rest)
      : first_(std::move(first)), rest_(std::move(rest)) {}

  size_t read(std::span<char> out) override {
    if (given_ == first_.size()) return rest_->read(out);
    const size_t count = std::min(out.size(), first_.size() - given_);
    std::memcpy(out.data(), first_.data() + given_, count);
    given_ += count;
    return count;
  }

 private:
  std::string first_;
  std::unique_ptr<ByteSource> rest_;
  size_t given_ = 0;
};

/// Decompressed members of a gzip file, one after another.
class GzipBytes : public ByteSource {
 public:
  GzipBytes(std::unique_ptr<ByteSource> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)), buffer_(kBuffer, '\0') {
    if (::inflateInit2(&stream_, kGzipWindow) != Z_OK)
      fail_with(Status::out_of_memory, "'{}': no memory to decompress it", name_);
  }
  ~GzipBytes() override { ::inflateEnd(&stream_); }
  GzipBytes(const GzipBytes&) = delete;
  GzipBytes& operator=(const GzipBytes&) = delete;

  size_t read(std::span<char> out) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out == out.size())
      if (!advance()) return 0;
    return out.size() - stream_.avail_out;
  }

 private:
  static constexpr int kGzipWindow = 15 + 16;  // zlib's largest window, with the header of gzip

  /// Returns false at the end of the last member.
  bool advance() {
    if (stream_.avail_in == 0) {
      const size_t count = source_->read(buffer_);
      if (count == 0 && is_between_) return false;
      if (count == 0) fail_damaged(name_, "gzip data end within a member");
      stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_in = static_cast<uInt>(count);
    }
    is_between_ = false;
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      is_between_ = true;
      ::inflateReset(&stream_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail_damaged(name_, fmt::format("no gzip data ({})", stream_.msg ? stream_.msg : "zlib"));
    }
    return true;
  }

  std::unique_ptr<ByteSource> source_;
  std::string name_, buffer_;
  z_stream stream_{};
  bool is_between_ = false;  // at the end of a member
};

/// Decompressed frames of a zstd file, one after another.
class ZstdBytes : public ByteSource {
 public:
  ZstdBytes(std::unique_ptr<ByteSource> source, std::string name)
      : source_(std::move(source)),
        name_(std::move(name)),
        buffer_(kBuffer, '\0'),
        stream_(::ZSTD_createDStream(), &::ZSTD_freeDStream) {
    if (!stream_) fail_with(Status::out_of_memory, "'{}': no memory to decompress it", name_);
  }

  size_t read(std::span<char> out) override {
    ZSTD_outBuffer made = {out.data(), out.size(), 0};
    while (made.pos == 0)
      if (!advance(made)) return 0;
    return made.pos;
  }

 private:
  /// Returns false at the end of the last frame.
  bool advance(ZSTD_outBuffer& out) {
    if (in_.pos == in_.size && !has_more_) {
      in_ = {buffer_.data(), source_->read(buffer_), 0};
      if (in_.size == 0 && left_ == 0) return false;
      if (in_.size == 0) fail_damaged(name_, "zstd data end within a frame");
    }
    left_ = ::ZSTD_decompressStream(stream_.get(), &out, &in_);
    if (::ZSTD_isError(left_))
      fail_damaged(name_, fmt::format("no zstd data ({})", ::ZSTD_getErrorName(left_)));
    has_more_ = out.pos == out.size && left_ != 0;  // the decoder holds bytes for which there was no room
    return true;
  }

  std::unique_ptr<ByteSource> source_;
  std::string name_, buffer_;
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream_;
  ZSTD_inBuffer in_ = {nullptr, 0, 0};
  size_t left_ = 0;  // 0: at the end of a frame
  bool has_more_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const fs::path& path) {
  auto stored = std::make_unique<StoredBytes>(path);
  std::string first(kZstdMark.size(), '\0');
  size_t held = 0;
  while (held < first.size()) {
    const size_t count = stored->read(std::span(first).subspan(held));
    if (count == 0) break;
    held += count;
  }
  first.resize(held);
  const bool gzip = first.starts_with(kGzipMark), zstd = first == kZstdMark;
  auto all = std::make_unique<BytesAgain>(std::move(first), std::move(stored));
  if (gzip) return std::make_unique<GzipBytes>(std::move(all), path.string());
  if (zstd) return std::make_unique<ZstdBytes>(std::move(all), path.string());
  return all;
}

BufferedBytes::BufferedBytes(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), buffer_(kBuffer, '\0') {}

bool BufferedBytes::refill() {
  begin_ = 0, end_ = source_->read(buffer_);
  return end_ > 0;
}

bool BufferedBytes::get_line(std::string& line, size_t most) {
  line.clear();
  bool found = false;
  while (begin_ < end_ || refill()) {
    found = true;
    const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
    const size_t end = std::min(rest.find('\n'), rest.size());
    line.append(rest.substr(0, std::min(end, most + 1 - std::min(line.size(), most + 1))));
    begin_ += end;
    if (end == rest.size()) continue;
    ++begin_;
    break;
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return found;
}

size_t BufferedBytes::append(std::string& text, size_t count) {
  size_t added = 0;
  while (added < count && (begin_ < end_ || refill())) {
    const size_t part = std::min(count - added, end_ - begin_);
    text.append(buffer_, begin_, part);
    begin_ += part, added += part;
  }
  return added;
}

SpooledFile::SpooledFile(const fs::path& path) : path_(path) {
  std::string first(kZstdMark.size(), '\0');
  if (path != "-") {
    StoredBytes stored(path);
    first.resize(stored.read(first));
    if (!first.starts_with(kGzipMark) && first != kZstdMark) return;
  }
  std::string name = (fs::temp_directory_path() / "smelt_data_XXXXXX").string();
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0)
    fail_with(Status::io, "'{}': no temporary file can be made there", fs::temp_directory_path().string());
  ::close(descriptor);
  path_ = name, is_temporary_ = true;
  try {
    const auto source = open_bytes(path);
    std::string block(kBuffer, '\0');
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen(name.c_str(), "wb"), &std::fclose);
    while (const size_t count = source->read(block))
      if (!out || std::fwrite(block.data(), 1, count, out.get()) != count)
        fail_with(Status::io, "'{}': {}", name, std::strerror(errno));
    if (out && std::fclose(out.release()) != 0) fail_with(Status::io, "'{}': {}", name, std::strerror(errno));
  } catch (...) {
    ::unlink(name.c_str());
    throw;
  }
}

SpooledFile::~SpooledFile() {
  if (is_temporary_) ::unlink(path_.c_str());
}

}  // namespace smelt
