// The table of passes over kernels, kernel_passes.def.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/kernel.h"

namespace smelt {

/// Whether a pass runs where it is named alone, or belongs to what legalize_for_gpu runs.
enum class KernelPassKind : uint8_t { alone, gpu };

struct KernelPass {
  std::string_view name, description;
  KernelPassKind kind;
  void (*run)(Kernel& kernel);
};

/// In the order of the table.
std::span<const KernelPass> all_kernel_passes();
/// Throws Error that names all of them.
const KernelPass& find_kernel_pass(std::string_view name);

/// Of a pipeline "early_loads,row_barriers", in its order; throws Error on a name that is unknown.
std::vector<const KernelPass*> parse_kernel_pipeline(std::string_view text);

}  // namespace smelt
