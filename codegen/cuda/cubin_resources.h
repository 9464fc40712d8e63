// Resources of a multiprocessor that a kernel's machine code needs. They are read from its cubin, an ELF
// file; cuobjdump --dump-resource-usage prints the same numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace smelt {

struct CubinResources {
  int registers = 0;         // per thread
  int64_t stack_bytes = 0;   // per thread, in local memory; includes spilled registers
  int64_t shared_bytes = 0;  // per block, without the dynamic shared memory that a launch requests
};

/// Returns the resources of the kernel with this name. Returns nothing if the bytes are not a cubin that
/// contains the kernel, or are damaged.
std::optional<CubinResources> cubin_resources(std::span<const std::byte> cubin, std::string_view kernel);

}  // namespace smelt
