#include "runtime/ranks/hmac.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr size_t kBlock = 64;
using State = std::array<uint32_t, 8>;

/// The first 32 bits of the fractions of the square roots of the first eight primes, and of the cube roots of
/// the first 64.
constexpr State kInitial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::array<uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

std::array<uint32_t, 64> schedule(const uint8_t* block) {
  std::array<uint32_t, 64> words;
  for (size_t i = 0; i < 16; ++i) words[i] = big_endian(block + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + words[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  return words;
}

void compress(State& state, const uint8_t* block) {
  const auto words = schedule(block);
  State s = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    const uint32_t first = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) + choice +
                           kRounds[i] + words[i];
    const uint32_t second = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) + majority;
    s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
  }
  for (size_t i = 0; i < state.size(); ++i) state[i] += s[i];
}

/// Returns the text, a one bit, zeros, and the text's length in bits, up to whole blocks.
std::string padded(std::string_view text) {
  std::string result(text);
  result += static_cast<char>(0x80);
  while (result.size() % kBlock != kBlock - 8) result += '\0';
  const uint64_t bits = uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) result += static_cast<char>(bits >> shift);
  return result;
}

std::string_view text_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

Digest sha256(std::string_view text) {
  const std::string blocks = padded(text);
  State state = kInitial;
  for (size_t at = 0; at < blocks.size(); at += kBlock)
    compress(state, reinterpret_cast<const uint8_t*>(blocks.data()) + at);
  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest hmac_sha256(std::string_view key, std::string_view message) {
  std::string inner(kBlock, '\x36'), outer(kBlock, '\x5c');
  const Digest shortened = sha256(key);
  if (key.size() > kBlock) key = text_of(shortened);
  for (size_t i = 0; i < key.size(); ++i)
    inner[i] = static_cast<char>(inner[i] ^ key[i]), outer[i] = static_cast<char>(outer[i] ^ key[i]);
  const Digest digest = sha256(inner.append(message));
  return sha256(outer.append(text_of(digest)));
}

bool are_equal(const Digest& a, const Digest& b) {
  uint32_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<uint32_t>(a[i] ^ b[i]);
  return difference == 0;
}

Digest random_bytes() {
  Digest bytes;
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = ::getrandom(bytes.data() + got, bytes.size() - got, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with(Status::io, "the system gives no random bytes: {}", std::strerror(errno));
    got += static_cast<size_t>(n);
  }
  return bytes;
}

std::string hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace smelt
