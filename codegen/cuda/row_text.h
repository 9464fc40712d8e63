// CUDA text for kernels that choose among the elements of a row: the order of elements, and the blocks that
// share a row.
#pragma once

#include <string>
#include <string_view>

#include "runtime/plan/plan.h"

namespace smelt {

/// Clusters, which exist from sm_90 on: their blocks read and write one another's shared memory.
constexpr int kClusterCapability = 90, kBlocksOfRow = 8;
/// The least length of a row that is worth the blocks of a cluster.
constexpr int64_t kLongRow = 8192;

/// Returns kBlocks, and the functions of the blocks that share one row:
///   int block_of_row()              the number of this block among them
///   void row_sync()                 waits for all of their threads, and makes their writes visible
///   T* in_block(T* mine, int b)     the same address of shared memory in block b
/// For one block the text needs no more than C++ and a barrier.
std::string row_blocks_text(int blocks);

/// The rows that a kernel takes. The kernels of one step together take every row once.
enum class RowKind : uint8_t { any, short_ones, long_ones, few_long_ones, many_long_ones };
/// The least number of rows that keeps all multiprocessors busy with one block per row.
constexpr int64_t kManyRows = 65;

/// Returns the kernel in `text` (KERNEL, with the attributes CLUSTER) after row_blocks_text(blocks): it gives
/// each row `blocks` blocks.
KernelCode kernel_of_rows(std::string name, std::string_view step, const std::string& text, int threads,
                          int blocks, RowKind rows);

}  // namespace smelt
