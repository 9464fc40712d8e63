// CUDA text for kernels that choose among the elements of a row: the order of elements, and the blocks that
// share a row.
#pragma once

#include <string>
#include <string_view>

#include "runtime/plan/plan.h"

namespace smelt {

/// Of clusters, which sm_90 brought: their blocks read and write one another's shared memory.
constexpr int kClusterCapability = 90, kBlocksOfRow = 8;
/// From here on a row is worth the blocks of a cluster.
constexpr int64_t kLongRow = 8192;

/// Entry: an element and its index as one number, larger ones before smaller ones.
extern const std::string_view kEntryText;

/// kBlocks, and what those of one row do together:
///   int block_of_row()              which of them this block is
///   void row_sync()                 waits for all of their threads, and makes their writes seen
///   T* in_block(T* mine, int b)     the same place of shared memory in block b
/// Of one block: no more than C++ and a barrier.
std::string row_blocks_text(int blocks);

/// Which rows a kernel takes. Kernels of one step take all rows between them, and none twice.
enum class RowKind : uint8_t { any, short_ones, long_ones, few_long_ones, many_long_ones };
/// From here on rows keep all multiprocessors busy with a block each.
constexpr int64_t kManyRows = 65;

/// Puts the head of a kernel before its parameters, and makes it one of rows in so many blocks.
KernelCode kernel_of_rows(std::string name, std::string_view step, const std::string& text, int threads,
                          int blocks, RowKind rows);

}  // namespace smelt
