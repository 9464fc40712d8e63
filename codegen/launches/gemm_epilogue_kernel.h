// Epilogue fusion of one kernel: a kernel that reads a matmul's result element by element becomes part of the
// template (a kernel that is written by hand) that computes the matmul.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// Tiles of a template, and the name that the variant with these tiles has in reports.
struct GemmEpilogueTiles {
  std::string name;
  GemmTiles wgmma = {};                                            // of the template for sm_90a
  std::optional<MmaTiles> mma = {};                                // set: of the template for sm_80 and later
  int rows() const { return mma ? mma->rows : GemmTiles::kRows; }  // of a tile
  /// Returns whether the epilogue may have column sums, for which threads with many accumulators have no
  /// registers.
  bool has_sums() const { return !mma || mma->one_tile(); }
};
/// Returns all tiles of the template for the target and the type of the matmul's operands, in the order of
/// preference. Returns none if no template supports the target.
std::vector<GemmEpilogueTiles> gemm_epilogue_tiles(const Target& target, const GemmStep& gemm);

/// A fused kernel and the arguments of its step.
struct GemmEpilogue {
  Kernel kernel;
  std::vector<BufferRef> arguments;
};

/// Returns the fused kernel, or nothing if the template does not support the matmul, or does not support
/// `reader`, the kernel that reads the matmul's result. `kept`: the fused kernel also stores the matmul's
/// result.
std::optional<GemmEpilogue> gemm_epilogue(const Program& program, const GemmStep& gemm,
                                          const KernelStep& reader, const GemmEpilogueTiles& tiles, bool kept,
                                          const Target& target);

}  // namespace smelt
