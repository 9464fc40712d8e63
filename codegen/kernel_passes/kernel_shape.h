// Queries about a kernel for passes over kernels, schedules and both emitters: axes by kind, the values that
// change along an axis, the loops of a block, vector accesses, and the storage of partial sums.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel/kernel.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// The storage of the running sum of an `accumulate`: one register per thread, one register per column, or
/// memory.
enum class Accumulation : uint8_t { scalar, column, memory };

/// The loops of a block around its vectors, and the depth of each instruction in them: 0 before all loops,
/// ..., `inner` in the vectors.
struct BlockNest {
  const KernelBlock* block = nullptr;
  std::vector<int> outer;  // axes, outermost first
  llvm::DenseMap<int, int> depth;
  int inner = 1;

  bool is_reduced() const { return block->scope == KernelBlock::Scope::reduced; }
  bool in_vectors(int id) const { return depth.lookup(id) == inner; }
};

class KernelShape {
 public:
  explicit KernelShape(const Kernel& kernel);

  std::vector<int> parallel, columns, reduced;  // axes
  int inner = -1;                               // the last column axis
  bool is_reduced() const { return !reduced.empty(); }

  /// Returns whether an instruction's value (or effect) changes along an axis within its block.
  bool moves(int id, int axis) const { return axis >= 0 && (axes_[id] >> axis & 1) != 0; }
  BlockNest nest_of(const KernelBlock& block) const;
  /// Returns whether neighbouring columns have neighbouring addresses, and all of them are used.
  bool is_vector_access(int id) const;
  /// Returns whether this is such a load, of the kernel's vectors.
  bool is_vector_load(int id) const;
  /// One Philox call serves eight neighbouring columns.
  bool is_vector_random(int id) const;
  Accumulation accumulation(int id) const;
  /// Instructions of one kind, each once.
  std::vector<int> all_of(Instruction::Kind kind) const;
  /// Returns the block that contains an instruction, or -1.
  int block_of(int id) const { return block_of_[id]; }
  /// Returns whether every vector of a row is whole.
  bool has_whole_vectors() const;

 private:
  void find_axes(const KernelBlock& block, int id);
  const Kernel& kernel_;
  std::vector<uint64_t> axes_;
  std::vector<int> block_of_;
};

}  // namespace smelt
