// Sizes in the matmul kernel for sm_90a (function.cuh). They follow from four constants that the compiler
// chooses: kRowTiles pieces of 64 rows per warp group, kColumns columns of a tile, kSharing warp groups per
// tile, and kCluster thread blocks per cluster. The kernel computes C = A B, and a ring buffer in shared
// memory has the tiles of A and B that TMA copies.
// Requires: kRowTiles, kColumns, kSharing, kCluster.
// The text of the kernel consists of these files and texts, in this order: ../halves, ../wgmma/types, the constants,
// sizes, ../shared_memory, ../wgmma/barriers, ../wgmma/products, ../wgmma/copies, copies, tiles, begin_tile and multiply_tile
// (codegen/cuda/wgmma_text.h), the functions of the epilogue ("body", codegen/cuda/gemm/gemm_text.h),
// epilogue, function, and the entry of the kernel.

// kRows: rows of a tile. kLaneRows: rows of the accumulators of which a lane holds elements.
constexpr int kRows = 64 * kRowTiles * kSharing, kLaneRows = 2 * kRowTiles;
// A TMA box has 64 x 64 elements of 16 bits. A stage of the ring buffer is what a tile needs for 64
// elements along k: the kABoxes boxes of A, then the kBBoxes boxes of B.
constexpr int kBoxBytes = 64 * 128, kABoxes = kRows / 64, kBBoxes = kColumns / 64;
constexpr int kStageBytes = (kABoxes + kBBoxes) * kBoxBytes;
// Registers per thread of the producer and the consumer warp groups, as setmaxnreg sets them.
constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
// A cluster computes kCluster tiles at a time, one below the other. All tiles in the first 2048 rows of C
// come first, then all tiles in the next 2048 rows, and so on, so that the operands stay in the L2 cache.
// kGroup: number of clusters whose tiles, one below the other, cover these 2048 rows.
constexpr int kGroup = 2048 / (kRows * kCluster);
// Column sums: each of two warp groups has its own tile, whose four warps have sums of their own, and all threads of the
// warp group add them up.
constexpr int kSummers = 2, kSumParts = 4, kSumThreads = 128;
