// Part of the Kernel IR for kernels that multiply two matrices: operands, sizes and tiles. The kernel's
// instructions compute the epilogue for one element of the product. They are called by a template, which is
// the hand-written code in codegen/cuda/gemm/ (in codegen/cuda/small_m/ for small-M GEMM, and in
// codegen/cuda/byte_gemm/ for weights of bytes and more rows).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/dim.h"
#include "runtime/base/dtype.h"

namespace smelt {

/// Tiles of the template for sm_90a.
struct GemmTiles {
  static constexpr int kRows = 128;  // of a tile
  int columns = 128;                 // of a tile: 128 or 192
  int cluster = 2;  // blocks of a cluster, whose tiles are adjacent along m and share their loads of B
  int stages = 5;   // of the ring buffer of operands in shared memory, each of 64 elements along k
  bool operator==(const GemmTiles&) const = default;
};

/// Tiles of the template for sm_80 and later (codegen/cuda/gemm/mma_gemm_text.h).
struct MmaTiles {
  int rows = 128, columns = 128;          // of a tile, which a block computes
  int depth = 32;                         // elements of 16 bits, or pairs of bytes, along k of a stage of the
                                          // ring buffer in shared memory
  int stages = 4;                         // of the ring buffer
  int warp_rows = 64, warp_columns = 32;  // of the part of a tile that one warp computes
  int blocks = 2;                         // blocks that a multiprocessor runs concurrently
  int threads() const { return 32 * (rows / warp_rows) * (columns / warp_columns); }  // of a block
  /// Returns whether a block computes one tile. Then the multiprocessor's other blocks run during its
  /// epilogue; otherwise, it copies operands of its next tile.
  bool one_tile() const { return blocks > 1; }
  bool operator==(const MmaTiles&) const = default;
};

/// Tiles of the two templates that read weights once. One is for small-M GEMM, with few rows of A, all of
/// which every block reads (codegen/cuda/small_m/). The other is for any number of rows, and weights that are
/// bytes (codegen/cuda/byte_gemm/).
struct SmallMTiles {
  int rows = 8;      // largest number of rows of A; if there are splits, rows of A in a tile
  int weights = 16;  // columns of the product that a block computes at a time
  int depth = 11;    // loads of weights, along k, that a warp (if there are splits, a block) has in flight
  /// The product's columns are divided into this number of adjacent parts of equal size. A block computes
  /// weights / parts columns of each part. The epilogue gets one element of each part.
  int parts = 1;
  int bias = -1;                     // parameter that is added to each row of the product; -1: none
  DType result_dtype = DType::bf16;  // type of the product and of the bias
  /// 0: small-M GEMM. Otherwise, any number of rows: `splits` blocks compute a tile together, and each of
  /// them adds up a share of the terms. The blocks of `together` adjacent tiles are a cluster.
  int splits = 0, together = 0;
  /// Small-M GEMM with 0: all warps of a block compute a tile together, each a share of the terms. Otherwise
  /// sums are chains (GemmStep::in_order): `warps` warps of a block each compute tiles of `weights`
  /// columns alone, others copy, and `depth` is the number of slots of the block's ring buffer.
  int warps = 0;
  bool operator==(const SmallMTiles&) const = default;
};

/// B as packed codes, in small-M GEMM (runtime/base/packed_format.h). An element of column n is (the number
/// of its code - zero) * scale, rounded to the type of A; the zero and the scale are those of its group of
/// `group` adjacent elements along k. The pitch of B is then in bytes.
struct PackedOperand {
  std::string format;
  int64_t group = 0;
  int scales = -1, zeros = -1;    // indices into Kernel::params; -1: zeros are 0
  Dim scales_pitch, zeros_pitch;  // elements from the numbers of one column to those of the next
  bool operator==(const PackedOperand&) const = default;
};

/// The product alpha * A B of A [m,k] and B [k,n], or one product for each index of the axes in `batch`.
struct GemmKernel {
  struct Operand {
    int param = -1;           // index into Kernel::params
    bool transposed = false;  // elements are contiguous along m (of A) or n (of B); false: along k
    Dim pitch;                // elements from the begin of one contiguous line to the begin of the next
    bool operator==(const Operand&) const = default;
  };
  /// An axis of a batch, the innermost last. The rows of the kernel's axes are those of all products.
  struct Batch {
    Dim extent, a_stride, b_stride;  // strides: elements from one product's operand to the next one's
    bool operator==(const Batch&) const = default;
  };
  Operand a, b;
  Dim m, n, k;
  GemmTiles tiles = {};
  std::optional<MmaTiles> mma = {};  // set: the template for sm_80 and later, with these tiles
  std::vector<Batch> batch = {};     // only if `mma` is set, as the next two
  double alpha = 1;
  bool rounded = true;  // the product is rounded to the type of A and B before the epilogue; false: it is
                        // f32, of bytes i32
  std::optional<PackedOperand> packed = {};
  std::optional<SmallMTiles> few = {};  // set: one of the templates that use these tiles instead of `tiles`

  /// Returns whether a prologue kernel (Kernel::before) computes A in shared memory. A is then the last
  /// parameter of the prologue kernel.
  bool is_staged() const { return a.param < 0; }
  bool is_small_m() const { return few && few->splits == 0; }
  /// Returns whether the kernel multiplies weights that are bytes by any number of rows.
  bool is_byte_gemm() const { return few && few->splits > 0; }
  /// Returns whether the kernel's template has wgmma and TMA, which only sm_90a has.
  bool is_wgmma() const { return !mma && !is_small_m(); }

  // Chosen by `schedule`.
  int most_blocks = 0;       // of the grid: as many as the GPU runs concurrently; 0: no limit
  int64_t shared_bytes = 0;  // dynamic shared memory per block

  /// Returns the number of products: the product of the extents of the batch.
  Dim products() const;
  /// Returns the number of blocks if each computes one tile: the number of tiles, rounded up to whole
  /// clusters.
  Dim blocks() const;
  bool operator==(const GemmKernel&) const = default;
};

}  // namespace smelt
