// HMAC (RFC 2104) with SHA-256 (FIPS 180-4), by which two processes prove to each other that they have the
// same secret without sending it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

using Digest = std::array<uint8_t, 32>;

Digest sha256(std::string_view text);
Digest hmac_sha256(std::string_view key, std::string_view message);
/// Returns whether the digests are equal. The time of the comparison does not depend on their contents.
bool are_equal(const Digest& a, const Digest& b);

/// Returns unpredictable random bytes from the system. Throws Error (io) if the system has none.
Digest random_bytes();
/// Returns two lowercase hexadecimal digits per byte.
std::string hex(std::span<const uint8_t> bytes);

}  // namespace smelt
