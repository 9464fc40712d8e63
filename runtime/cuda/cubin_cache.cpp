#include "runtime/cuda/cubin_cache.h"

#include <array>
#include <cstring>
#include <fstream>
#include <span>

#include "runtime/base/error.h"
#include "runtime/system/cache_directory.h"

namespace smelt {
namespace {

constexpr char kMagic[8] = {'s', 'm', 'e', 'l', 't', 'c', 'u', '2'};
constexpr uint64_t kMostBytes = uint64_t{1} << 28;

/// FNV-1a over 64 bits, from a start of its own.
uint64_t cache_hash(const void* data, size_t size, uint64_t start) {
  uint64_t h = start;
  for (size_t i = 0; i < size; ++i) h = (h ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001B3u;
  return h ^ (h >> 29);
}

constexpr uint64_t kStart = 0xCBF29CE484222325u, kOtherStart = 0x9AE16A3B2F90404Fu;

struct EntryHeader {
  char magic[8];
  uint64_t bytes, checksum;
  std::array<int32_t, 6> resources;  // the last is 0: no byte is left to padding
  char key[32];                      // a file that was renamed is another kernel's
};

uint64_t checksum(const EntryHeader& header, const std::vector<std::byte>& bytes) {
  const uint64_t start = cache_hash(header.resources.data(), sizeof header.resources, kStart);
  return cache_hash(bytes.data(), bytes.size(), start);
}

}  // namespace

std::optional<std::filesystem::path> CubinCache::default_directory() {
  const std::filesystem::path directory = cache_directory();
  return directory.empty() ? std::nullopt : std::optional(directory);
}

std::string CubinCache::key(const std::string& everything) {
  return fmt::format("{:016x}{:016x}", cache_hash(everything.data(), everything.size(), kStart),
                     cache_hash(everything.data(), everything.size(), kOtherStart));
}

std::filesystem::path CubinCache::file(const std::string& key) const {
  return *directory_ / "kernels" / key.substr(0, 2) / (key + ".cubin");
}

std::optional<Cubin> CubinCache::read(const std::string& key) const {
  if (!directory_) return std::nullopt;
  std::ifstream in(file(key), std::ios::binary);
  EntryHeader header;
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.bytes > kMostBytes) return std::nullopt;
  if (std::memcmp(header.key, key.data(), sizeof header.key) != 0) return std::nullopt;
  Cubin cubin;
  cubin.bytes.resize(header.bytes);
  if (!in.read(reinterpret_cast<char*>(cubin.bytes.data()), static_cast<std::streamsize>(header.bytes)) ||
      in.peek() != std::ifstream::traits_type::eof() || checksum(header, cubin.bytes) != header.checksum)
    return std::nullopt;
  const auto& r = header.resources;
  cubin.resources = {.registers = r[0],
                     .stack_bytes = r[1],
                     .spill_bytes = r[2],
                     .shared_bytes = r[3],
                     .serial_products = r[4]};
  cubin.from_cache = true;
  return cubin;
}

void CubinCache::write(const std::string& key, const Cubin& cubin) const {
  if (!directory_) return;
  const CudaResources& r = cubin.resources;
  EntryHeader header{};
  header.bytes = cubin.bytes.size();
  header.resources = {r.registers, r.stack_bytes, r.spill_bytes, r.shared_bytes, r.serial_products};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::memcpy(header.key, key.data(), sizeof header.key);
  header.checksum = checksum(header, cubin.bytes);
  write_cache_file(file(key), {std::as_bytes(std::span(&header, 1)), cubin.bytes});
}

}  // namespace smelt
