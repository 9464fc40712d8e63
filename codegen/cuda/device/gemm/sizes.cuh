// Sizes of a matmul's tiles that follow from the constants of its schedule.
// Requires: kRowTiles, kColumns, kSharing, kCluster.
// Order: wgmma/types, the constants, sizes, wgmma/barriers, wgmma/products, tiles, products named `tile`, the body's functions
// (codegen/cuda/gemm/gemm_text.h), epilogue, function, and the entry.

// Of a tile, of the rows that a lane has at a time, and of shared memory: boxes are 64 by 64 elements.
constexpr int kRows = 64 * kRowTiles * kSharing, kLaneRows = 2 * kRowTiles;
constexpr int kBoxBytes = 64 * 128, kABoxes = kRows / 64, kBBoxes = kColumns / 64;
constexpr int kStageBytes = (kABoxes + kBBoxes) * kBoxBytes;
constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
// Rows of clusters whose tiles follow one another before the next ones: what they read stays in the cache.
constexpr int kGroup = 2048 / (kRows * kCluster);
