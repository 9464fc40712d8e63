#include "codegen/cuda/cubin_resources.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace smelt {
namespace {

using Bytes = std::span<const std::byte>;

// An entry of a section .nv.info is {format, attribute, 16 bits}; after a `sized` one follow as many bytes as
// those 16 bits give. Both attributes are sized: a symbol's number, then the value for that symbol.
constexpr uint8_t kSized = 4, kRegisterCount = 0x2f, kStackSize = 0x12;

/// Returns the value at an offset; nothing where it exceeds the bytes.
template <typename T>
std::optional<T> read_at(Bytes bytes, uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Bytes part_of(Bytes bytes, uint64_t at, uint64_t size) {
  if (at > bytes.size() || bytes.size() - at < size) return {};
  return bytes.subspan(at, size);
}

struct Sections {
  Bytes file;
  Elf64_Ehdr header = {};
  Bytes names = {};

  std::optional<Elf64_Shdr> at(uint64_t number) const {
    const uint64_t begin = header.e_shoff + number * sizeof(Elf64_Shdr);
    return begin < header.e_shoff ? std::nullopt : read_at<Elf64_Shdr>(file, begin);
  }

  std::string_view name_of(const Elf64_Shdr& section) const {
    if (section.sh_name >= names.size()) return {};
    const Bytes rest = names.subspan(section.sh_name);
    const auto end = std::ranges::find(rest, std::byte{0});
    return {reinterpret_cast<const char*>(rest.data()), static_cast<size_t>(end - rest.begin())};
  }

  std::optional<Elf64_Shdr> find(std::string_view name) const {
    for (uint64_t i = 0; i < header.e_shnum; ++i)
      if (const auto section = at(i); section && name_of(*section) == name) return section;
    return std::nullopt;
  }
};

std::optional<Sections> sections_of(Bytes cubin) {
  const auto header = read_at<Elf64_Ehdr>(cubin, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr))
    return std::nullopt;
  Sections sections{cubin, *header};
  if (const auto names = sections.at(header->e_shstrndx))
    sections.names = part_of(cubin, names->sh_offset, names->sh_size);
  return sections;
}

/// Functions that were not inlined have attributes of their own; the kernel's are the largest.
std::optional<int64_t> largest(Bytes attributes, uint8_t wanted) {
  std::optional<int64_t> most;
  for (uint64_t at = 0; const auto head = read_at<std::array<uint8_t, 2>>(attributes, at);) {
    const uint64_t size = read_at<uint16_t>(attributes, at + 2).value_or(0);
    at += 4;
    if ((*head)[0] != kSized) continue;
    const auto number = read_at<uint32_t>(attributes, at + sizeof(uint32_t));
    if ((*head)[1] == wanted && size >= 2 * sizeof(uint32_t) && number)
      most = std::max<int64_t>(most.value_or(0), *number);
    at += size;
  }
  return most;
}

constexpr int64_t kMostRegisters = 255;
/// Shared memory that the system reserves before the kernel's own, where there is a section for it.
constexpr uint64_t kSystemBytes = 1024;

}  // namespace

std::optional<CubinResources> cubin_resources(Bytes cubin, std::string_view kernel) {
  const auto sections = sections_of(cubin);
  if (!sections || !sections->find(".text." + std::string(kernel))) return std::nullopt;
  const auto info = sections->find(".nv.info");
  if (!info) return std::nullopt;
  const Bytes attributes = part_of(cubin, info->sh_offset, info->sh_size);
  const auto registers = largest(attributes, kRegisterCount);
  if (!registers || *registers > kMostRegisters) return std::nullopt;
  const auto shared = sections->find(".nv.shared." + std::string(kernel));
  uint64_t shared_bytes = shared ? shared->sh_size : 0;
  if (sections->find(".nv.shared.reserved.0")) shared_bytes -= std::min(shared_bytes, kSystemBytes);
  if (shared_bytes > UINT32_MAX) return std::nullopt;
  return CubinResources{static_cast<int>(*registers), largest(attributes, kStackSize).value_or(0),
                        static_cast<int64_t>(shared_bytes)};
}

}  // namespace smelt
