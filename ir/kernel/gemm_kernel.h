// Frame of a kernel that multiplies two matrices: operands, sizes and tiles. The instructions compute the
// epilogue of one element of the product; a template (codegen/cuda/gemm/, or codegen/cuda/small_m/ for
// small-M GEMM) is the rest.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/dim.h"
#include "runtime/base/dtype.h"

namespace smelt {

/// Tiles of the template for sm_90a: the work of a warpgroup at a time, and its ring of buffers.
struct GemmTiles {
  int row_tiles = 2;  // of 64 rows, of a warpgroup
  int columns = 128;
  int sharing = 1;  // warpgroups of one tile: 1, each has a tile of its own, or 2
  int cluster = 2;  // blocks below one another that share what they read of B
  int stages = 6;   // of the ring, 64 along k each
  int rows() const { return 64 * row_tiles * sharing; }
  bool operator==(const GemmTiles&) const = default;
};

/// Tiles of the template for small-M GEMM (codegen/cuda/small_m/), whose blocks read all of A.
struct SmallMTiles {
  int rows = 8;      // of A, at most
  int weights = 16;  // columns of the product, over all parts, that a block has at a time
  int depth = 11;    // pieces along k of its weights that a warp is loading
  int parts = 1;  // neighbouring parts of the product's columns of which the body is handed an element each
  int bias = -1;  // the parameter that is added to each row of the product
  DType result_dtype = DType::bf16;  // of the product and the bias
  bool operator==(const SmallMTiles&) const = default;
};

struct GemmKernel {
  /// Neighbours along k or, in a transposed operand, those along m or n are contiguous; the others are a
  /// pitch apart.
  struct Operand {
    int param = -1;
    bool transposed = false;
    Dim pitch;
    bool operator==(const Operand&) const = default;
  };
  Operand a, b;
  Dim m, n, k;
  GemmTiles tiles = {};
  std::optional<SmallMTiles> few = {};  // then this in place of tiles

  /// Returns whether A is the result of the prologue kernel (Kernel::before) in shared memory: its last
  /// parameter.
  bool is_staged() const { return a.param < 0; }

  // Chosen by `schedule`.
  int most_blocks = 0;       // of the grid: multiprocessors, in whole clusters
  int64_t shared_bytes = 0;  // of a block

  /// Returns the number of tiles in whole clusters.
  Dim blocks() const;
  bool operator==(const GemmKernel&) const = default;
};

}  // namespace smelt
