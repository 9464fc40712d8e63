#include "frontend/data/codec.h"

#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

namespace smelt {
namespace {

/// Bytes per byte of a block, at most, that a codec can make; a larger size is not allocated.
constexpr size_t kMostRatio = 1 << 16;

bool inflate_block(std::string_view block, std::string& out) {
  constexpr int kAnyHeader = 15 + 32;
  z_stream stream{};
  if (::inflateInit2(&stream, kAnyHeader) != Z_OK) return false;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block.data()));
  stream.avail_in = static_cast<uInt>(block.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data()), stream.avail_out = static_cast<uInt>(out.size());
  const int result = ::inflate(&stream, Z_FINISH);
  const bool good = result == Z_STREAM_END && stream.avail_out == 0;
  ::inflateEnd(&stream);
  return good;
}

bool snappy_block(std::string_view block, std::string& out) {
  size_t size = 0;
  if (::snappy_uncompressed_length(block.data(), block.size(), &size) != SNAPPY_OK || size != out.size())
    return false;
  return ::snappy_uncompress(block.data(), block.size(), out.data(), &size) == SNAPPY_OK;
}

}  // namespace

bool decompress(BlockCodec codec, std::string_view block, size_t size, std::string& out) {
  if (codec == BlockCodec::none) return out.assign(block), block.size() == size;
  if (size / kMostRatio > block.size()) return false;
  out.resize(size);
  if (codec == BlockCodec::gzip) return inflate_block(block, out);
  if (codec == BlockCodec::snappy) return snappy_block(block, out);
  return ::ZSTD_decompress(out.data(), out.size(), block.data(), block.size()) == size;
}

}  // namespace smelt
