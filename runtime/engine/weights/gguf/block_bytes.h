// Reads of bytes and half-precision numbers in a block of a GGUF tensor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/half.h"

namespace smelt {

inline int byte_at(const std::byte* bytes, int64_t i) { return std::to_integer<int>(bytes[i]); }
inline int signed_byte_at(const std::byte* bytes, int64_t i) {
  return static_cast<int8_t>(std::to_integer<uint8_t>(bytes[i]));
}
inline float half_at(const std::byte* bytes, int64_t i) {
  return from_f16(static_cast<uint16_t>(byte_at(bytes, i) | byte_at(bytes, i + 1) << 8));
}
inline int low_nibble(const std::byte* bytes, int64_t i) { return byte_at(bytes, i) & 15; }
inline int high_nibble(const std::byte* bytes, int64_t i) { return byte_at(bytes, i) >> 4; }

}  // namespace smelt
