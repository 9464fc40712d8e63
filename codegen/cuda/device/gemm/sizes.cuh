// Sizes in the matmul kernel for sm_90a (function.cuh) that follow from the constants of its schedule:
// kRowTiles pieces of 64 rows per warp group, kColumns columns of a tile, kSharing warp groups per tile, and
// kCluster blocks per cluster.
// Requires: kRowTiles, kColumns, kSharing, kCluster.
// Order of the text: ../wgmma/types, the constants, sizes, ../wgmma/barriers, ../wgmma/products, tiles,
// begin_tile and multiply_tile (codegen/cuda/wgmma_text.h), the functions of the epilogue ("body",
// codegen/cuda/gemm/gemm_text.h), epilogue, function, and the entry of the kernel.

// Rows of a tile, and rows of a lane in the accumulators.
constexpr int kRows = 64 * kRowTiles * kSharing, kLaneRows = 2 * kRowTiles;
// TMA boxes have 64 x 64 elements of 16 bits. A stage of the ring buffer has the boxes of A and then those of
// B for one tile and 64 elements along k.
constexpr int kBoxBytes = 64 * 128, kABoxes = kRows / 64, kBBoxes = kColumns / 64;
constexpr int kStageBytes = (kABoxes + kBBoxes) * kBoxBytes;
// Per thread, for setmaxnreg.
constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
// Tiles are computed in groups, one group after the other: a group is all tiles of 2048 rows of C, which are
// kGroup rows of cluster tiles (kCluster tiles, one below the other). So its operands stay in the L2 cache.
constexpr int kGroup = 2048 / (kRows * kCluster);
