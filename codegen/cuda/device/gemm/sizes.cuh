// Sizes in the matmul kernel for sm_90a (function.cuh). They follow from two constants that the compiler
// chooses: kColumns columns of a tile, 128 or 192, and kCluster thread blocks per cluster. The kernel computes
// C = A B, and a ring buffer in shared memory has the tiles of A and B that TMA copies.
// Requires: kColumns, kCluster.
// The text of the kernel consists of these files and texts, in this order: ../halves, ../wgmma/types, the constants,
// sizes, ../shared_memory, ../wgmma/barriers, ../wgmma/products, ../wgmma/copies, copies, tiles, parts, the products begin_wide, multiply_wide, begin_rest and
// multiply_rest (codegen/cuda/wgmma_text.h), the functions of the epilogue ("body", codegen/cuda/gemm/gemm_text.h),
// epilogue, function, and the entry of the kernel.

// kRows: rows of a tile. A warp group multiplies kPartRows of them, in wgmma instructions for kWide and kRest columns.
// One instruction for all columns would need more registers than a thread has before setmaxnreg.
constexpr int kPartRows = 64, kRows = 2 * kPartRows, kWide = 128, kRest = kColumns - kWide;
// A TMA box has 64 x 64 elements of 16 bits. A stage of the ring buffer is what a tile needs for 64
// elements along k: the kABoxes boxes of A, then the kBBoxes boxes of B.
constexpr int kBoxBytes = 64 * 128, kABoxes = kRows / 64, kBBoxes = kColumns / 64;
constexpr int kStageBytes = (kABoxes + kBBoxes) * kBoxBytes;
// The products of a warp group are passed to the epilogue in shared memory, as kBBoxes boxes.
constexpr int kPartBytes = kBBoxes * kBoxBytes;
// In the epilogue, eight adjacent lanes of a warp have 64 columns of a row, and the four warps of a warp group have
// kStepRows rows at a time.
constexpr int kRowLanes = 8, kStepRows = 4 * 32 / kRowLanes;
// Registers per thread of the warp groups that copy, multiply and run the epilogue, as setmaxnreg sets them. All five
// warp groups begin with kFirstRegisters, the most for which a multiprocessor has enough.
constexpr int kFirstRegisters = 96, kCopyRegisters = 24, kProductRegisters = kColumns / 2 + 32;
constexpr int kEpilogueRegisters = (5 * kFirstRegisters - kCopyRegisters - 2 * kProductRegisters) / 16 * 8;
// A cluster computes kCluster tiles at a time, one below the other. All tiles in the first 2048 rows of C
// come first, then all tiles in the next 2048 rows, and so on, so that the operands stay in the L2 cache.
// kGroup: number of clusters whose tiles, one below the other, cover these 2048 rows.
constexpr int kGroup = 2048 / (kRows * kCluster);
// Column sums: each of the eight warps that run the epilogue has its own, and all threads of these add them up.
constexpr int kSumParts = 8, kSumThreads = 256;
