// Resources of a multiprocessor that a kernel's machine code needs, read from its cubin: an ELF file, whose
// attributes are also printed by cuobjdump --dump-resource-usage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace smelt {

struct CubinResources {
  int registers = 0;         // of a thread
  int64_t stack_bytes = 0;   // of a thread, in local memory: where spilled registers lie, too
  int64_t shared_bytes = 0;  // of a block, but for what a launch asks for
};

/// Returns the resources of the kernel with this name; nothing where the bytes are no cubin of it, or are
/// damaged.
std::optional<CubinResources> cubin_resources(std::span<const std::byte> cubin, std::string_view kernel);

}  // namespace smelt
