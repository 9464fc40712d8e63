// A proof that both ends know a secret, which does not reveal it: HMAC (RFC 2104) with SHA-256 (FIPS 180-4).
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
/// Takes the same time wherever they differ.
bool are_equal(const Digest& a, const Digest& b);

/// Returns unpredictable random bytes from the system.
Digest random_bytes();
std::string hex(std::span<const uint8_t> bytes);

}  // namespace smelt
