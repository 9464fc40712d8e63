// Kernels that choose among the elements of a row, such as top_k: the number of thread blocks per row, and
// CUDA source of functions through which the blocks of one row cooperate.
#pragma once

#include <string>
#include <string_view>

#include "runtime/plan/plan.h"

namespace smelt {

/// kClusterCapability: the lowest compute capability with clusters, which are groups of blocks that access
/// each other's shared memory. kBlocksOfRow: the number of blocks of the cluster that processes one long row.
constexpr int kClusterCapability = 90, kBlocksOfRow = 8;
/// The least length of a row, in elements, for which a cluster is faster than one block.
constexpr int64_t kLongRow = 8192;

/// Returns CUDA source that defines the constant kBlocks and functions for the blocks that share one row:
///   int block_of_row()              returns the number of this block among the blocks of its row
///   void row_sync()                 waits for all threads of the row, and makes their writes visible
///   T* in_block(T* mine, int b)     returns the address of `mine` in the shared memory of block b
/// The source for one block uses no clusters.
std::string row_blocks_text(int blocks);

/// Condition on the rows of a step under which a kernel is launched. Rows are long if they have at least
/// kLongRow elements, and they are many if there are at least kManyRows of them. A step has several kernels.
/// Exactly one of them is launched, depending on the length and the number of the rows.
enum class RowKind : uint8_t { any, short_ones, long_ones, few_long_ones, many_long_ones };
/// From this number of rows on, one block per row is faster than a cluster.
constexpr int64_t kManyRows = 65;

/// Returns a kernel that has `blocks` blocks per row. Its source is row_blocks_text(blocks) and `text`, in
/// which the word KERNEL is replaced by the name, and CLUSTER by the attribute of the cluster's size. `step`:
/// the name of the kind of step that the kernel carries out. `rows`: the condition for its launch.
KernelCode kernel_of_rows(std::string name, std::string_view step, const std::string& text, int threads,
                          int blocks, RowKind rows);

}  // namespace smelt
