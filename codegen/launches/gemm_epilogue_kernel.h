// Epilogue fusion of one kernel: a kernel that reads a matmul's result element by element becomes part of the
// template that computes the matmul.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// Tiles, and their readable name, in order of preference.
struct GemmEpilogueTiles {
  std::string name;
  GemmTiles tiles;
};
const std::vector<GemmEpilogueTiles>& gemm_epilogue_tiles();

struct GemmEpilogue {
  Kernel kernel;
  std::vector<BufferRef> arguments;
};

/// Returns the fused kernel; nothing where the template does not take the matmul, the kernel, or both
/// together. `kept`: it stores the matmul's result, too.
std::optional<GemmEpilogue> gemm_epilogue(const Program& program, const GemmStep& gemm,
                                          const KernelStep& reader, const GemmTiles& tiles, bool kept,
                                          const Target& target);

}  // namespace smelt
