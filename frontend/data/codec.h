// Decompression of blocks whose size after decompression is known.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

enum class BlockCodec { none, snappy, gzip, zstd };

/// Replaces `out` by the decompressed block, which has `size` bytes. Returns false if the block is damaged or
/// has another size.
bool decompress(BlockCodec codec, std::string_view block, size_t size, std::string& out);

}  // namespace smelt
