#include "compiler/driver/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <string_view>

namespace smelt {
namespace {

constexpr std::string_view kOwner = {"GNU\0", 4};  // of the note, as stored

size_t padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

/// The build id among the notes of one segment; empty where there is none.
std::string build_id_in(const char* notes, size_t bytes) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const char* name = notes + sizeof note;
    const size_t name_bytes = padded(note.n_namesz), whole = sizeof note + name_bytes + padded(note.n_descsz);
    if (whole > bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(name, note.n_namesz) == kOwner) {
      std::string text;
      for (size_t i = 0; i < note.n_descsz; ++i)
        text += fmt::format("{:02x}", static_cast<unsigned char>(name[name_bytes + i]));
      return text;
    }
    notes += whole, bytes -= whole;
  }
  return {};
}

std::string build_id_of(const dl_phdr_info& object) {
  for (size_t i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(object.dlpi_addr + segment.p_vaddr);
    if (auto id = build_id_in(notes, segment.p_memsz); !id.empty()) return id;
  }
  return {};
}

bool holds(const dl_phdr_info& object, uintptr_t address) {
  for (size_t i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    const uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address - begin < segment.p_memsz) return true;
  }
  return false;
}

struct Found {
  std::string own, llvm;
};

int look_at(dl_phdr_info* object, size_t, void* data) {
  auto& found = *static_cast<Found*>(data);
  if (holds(*object, reinterpret_cast<uintptr_t>(&look_at)))
    found.own = build_id_of(*object);
  else if (std::string_view(object->dlpi_name).find("libLLVM") != std::string_view::npos)
    found.llvm = build_id_of(*object);
  return 0;
}

}  // namespace

const std::string& compiler_build_id() {
  static const std::string id = [] {
    Found found;
    ::dl_iterate_phdr(look_at, &found);
    return found.own.empty() ? std::string() : found.own + "+" + found.llvm;
  }();
  return id;
}

}  // namespace smelt
