// A kernel whose instructions go on with the elements of a matmul's result, as that of a template that makes
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/target.h"

namespace smelt {

/// Tiles, and what people call them, in order of preference.
struct GemmBodyTiles {
  std::string name;
  GemmTiles tiles;
};
const std::vector<GemmBodyTiles>& gemm_body_tiles();

struct GemmBody {
  Kernel kernel;
  std::vector<BufferRef> arguments;
};

/// Nothing where the template does not take the matmul, the kernel, or both together. `kept`: it stores the
/// matmul's result, too.
std::optional<GemmBody> gemm_body(const Program& program, const GemmStep& gemm, const KernelStep& reader,
                                  const GemmTiles& tiles, bool kept, const Target& target);

}  // namespace smelt
