// Part of the Kernel IR for kernels that multiply two matrices: operands, sizes and tiles. The kernel's
// instructions compute the epilogue for one element of the product. They are called by a template, which is
// the hand-written code in codegen/cuda/gemm/ (or in codegen/cuda/small_m/ for small-M GEMM).
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/dim.h"
#include "runtime/base/dtype.h"

namespace smelt {

/// Tiles of the template for sm_90a.
struct GemmTiles {
  int row_tiles = 2;  // 64-row pieces of a tile that one warpgroup computes
  int columns = 128;  // columns of a tile
  int sharing = 1;    // warpgroups that compute one tile: 1 (each has a tile of its own) or 2
  int cluster = 2;    // blocks of a cluster, whose tiles are adjacent along m and share their loads of B
  int stages = 6;     // of the ring buffer of operands in shared memory, each of 64 elements along k
  int rows() const { return 64 * row_tiles * sharing; }  // of a tile
  bool operator==(const GemmTiles&) const = default;
};

/// Tiles of the template for small-M GEMM (codegen/cuda/small_m/). Every block reads all of A.
struct SmallMTiles {
  int rows = 8;      // largest number of rows of A
  int weights = 16;  // columns of the product that a block computes at a time
  int depth = 11;    // loads of weights, along k, that a warp has in flight
  /// The product's columns are divided into this number of adjacent parts of equal size. A block computes
  /// weights / parts columns of each part. The epilogue gets one element of each part.
  int parts = 1;
  int bias = -1;                     // parameter that is added to each row of the product; -1: none
  DType result_dtype = DType::bf16;  // type of the product and of the bias
  bool operator==(const SmallMTiles&) const = default;
};

/// The product of A [m,k] and B [k,n].
struct GemmKernel {
  struct Operand {
    int param = -1;           // index into Kernel::params
    bool transposed = false;  // elements are contiguous along m (of A) or n (of B); false: along k
    Dim pitch;                // elements from the begin of one contiguous line to the begin of the next
    bool operator==(const Operand&) const = default;
  };
  Operand a, b;
  Dim m, n, k;
  GemmTiles tiles = {};
  std::optional<SmallMTiles> few = {};  // set: a small-M GEMM, which uses these tiles instead of `tiles`

  /// Returns whether a prologue kernel (Kernel::before) computes A in shared memory. A is then the last
  /// parameter of the prologue kernel.
  bool is_staged() const { return a.param < 0; }

  // Chosen by `schedule`.
  int most_blocks = 0;       // largest number of blocks of the grid: those that the GPU runs concurrently
  int64_t shared_bytes = 0;  // dynamic shared memory per block

  /// Returns the number of blocks if each computes one tile: the number of tiles, rounded up to whole
  /// clusters.
  Dim blocks() const;
  bool operator==(const GemmKernel&) const = default;
};

}  // namespace smelt
