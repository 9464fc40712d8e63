// Kernels that choose among the elements of a row, such as top_k: the number of thread blocks per row, and
// the text by which the blocks of one row cooperate.
#pragma once

#include <string>
#include <string_view>

#include "runtime/plan/plan.h"

namespace smelt {

/// kClusterCapability: the lowest compute capability with clusters, whose blocks access each other's shared
/// memory. kBlocksOfRow: the number of blocks of a cluster that processes one row.
constexpr int kClusterCapability = 90, kBlocksOfRow = 8;
/// The least length of a row, in elements, for which a cluster is faster than one block.
constexpr int64_t kLongRow = 8192;

/// Returns text that defines the constant kBlocks and functions for the blocks that share one row:
///   int block_of_row()              returns the number of this block among these
///   void row_sync()                 waits for all of their threads, and makes their writes visible
///   T* in_block(T* mine, int b)     returns the address of `mine` in the shared memory of block b
/// The text for one block uses no clusters.
std::string row_blocks_text(int blocks);

/// The rows that a kernel processes: long rows have at least kLongRow elements, and rows are many if there
/// are at least kManyRows. Each row is processed by exactly one of a step's kernels.
enum class RowKind : uint8_t { any, short_ones, long_ones, few_long_ones, many_long_ones };
/// The least number of rows that keeps all multiprocessors busy with one block per row.
constexpr int64_t kManyRows = 65;

/// Returns a kernel that has `blocks` blocks per row. Its source is row_blocks_text(blocks) and `text`, in
/// which the word KERNEL is replaced by the name, and CLUSTER by the attribute of the cluster's size. `step`:
/// the kind of step that the kernel is launched for. `rows`: the condition of a launch.
KernelCode kernel_of_rows(std::string name, std::string_view step, const std::string& text, int threads,
                          int blocks, RowKind rows);

}  // namespace smelt
