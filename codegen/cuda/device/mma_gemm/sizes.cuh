// Sizes in the matmul kernel for sm_80 and later (function.cuh). They follow from constants that the compiler
// chooses: kRows x kColumns elements of a tile, kDepth elements of a stage along k, kStages stages of the ring buffer
// in shared memory, and kWarpRows x kWarpColumns elements of a tile that one warp computes. If kOneTile is true, a block
// computes one tile, several blocks run concurrently on a multiprocessor, and the text avoids values that the compiler
// would keep in registers. If kBytes is true, the operands are bytes, and a Half stands for a pair of them: pairs are
// the units in which lengths along k, and pitches, are counted.
// Requires: these constants, and the type Sum of a sum of products. The text of the kernel consists of these files and texts, in this order: the constants,
// sizes, ../shared_memory, ../halves, instructions, ../gemm/tiles, lanes, copies, products, the functions of the epilogue
// ("body", codegen/cuda/gemm/gemm_text.h), function, and the entry of the kernel.

constexpr int kThreads = 32 * (kRows / kWarpRows) * (kColumns / kWarpColumns);
// The pieces of 16 rows, and the groups of 32 columns, that a warp computes. In the epilogue, kRowLanes adjacent lanes
// have the columns of a group, and a lane has kLaneRows rows of a piece, which are 8 apart.
constexpr int kRowPieces = kWarpRows / 16, kGroups = kWarpColumns / 32, kRowLanes = 4, kLaneRows = 2;
// A stage is the tile of A, then the tile of B.
constexpr int kABytes = kRows * kDepth * 2, kStageBytes = kABytes + kColumns * kDepth * 2;
// All tiles in the first 2048 rows of C come first, then all tiles in the next 2048 rows, and so on, so that the
// operands stay in the L2 cache. kGroup: number of tiles, one below the other, that cover these 2048 rows.
constexpr int kCluster = 1, kGroup = 2048 / kRows;
// Column sums: each piece of 16 rows of a tile has its own, and all threads of the block add them up.
constexpr int kSumParts = kRows / 16, kSumThreads = kThreads;
