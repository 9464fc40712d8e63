// Queries about a kernel for passes over kernels, schedules and both emitters: axes by kind, the values that
// change along an axis, the loops of a block, vector accesses, and the storage of partial sums. `id` is the
// number of an instruction in Kernel::instructions.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel/kernel.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// The storage of the running sum of an `accumulate`: one register per thread, one register per column, or
/// memory.
enum class Accumulation : uint8_t { scalar, column, memory };

/// The loop nest of a block: loops over the axes `outer`, and inside them the innermost loop, over vectors of
/// columns.
struct BlockNest {
  const KernelBlock* block = nullptr;
  std::vector<int> outer;  // axes of the outer loops, outermost first
  /// Depth of each instruction: 0 before all loops, 1 in the outermost loop, ..., `inner` in the loop over
  /// vectors.
  llvm::DenseMap<int, int> depth;
  int inner = 1;

  bool is_reduced() const { return block->scope == KernelBlock::Scope::reduced; }
  bool in_vectors(int id) const { return depth.lookup(id) == inner; }
};

class KernelShape {
 public:
  explicit KernelShape(const Kernel& kernel);

  std::vector<int> parallel, columns, reduced;  // numbers of the axes of each kind
  int inner = -1;                               // the last column axis; -1: there are no column axes
  bool is_reduced() const { return !reduced.empty(); }

  /// Returns whether an instruction's value, or the memory that it accesses, changes along an axis within its
  /// block.
  bool moves(int id, int axis) const { return axis >= 0 && (axes_[id] >> axis & 1) != 0; }
  BlockNest nest_of(const KernelBlock& block) const;
  /// Returns whether an instruction is a load or store that accesses adjacent elements for adjacent columns.
  /// A load must have no predicate. A store may have a predicate that is the same for all columns.
  bool is_vector_access(int id) const;
  /// Returns whether an instruction is a load for which is_vector_access is true, and the schedule either has
  /// vectors of several elements or unrolls loops.
  bool is_vector_load(int id) const;
  /// Returns whether an instruction draws random bits along the columns, such that one Philox call makes the
  /// bits of eight adjacent columns.
  bool is_vector_random(int id) const;
  /// Returns the storage of the running sum of an `accumulate`.
  Accumulation accumulation(int id) const;
  /// Returns the numbers of all instructions of this kind in the kernel's blocks.
  std::vector<int> all_of(Instruction::Kind kind) const;
  /// Returns the block that contains an instruction, or -1.
  int block_of(int id) const { return block_of_[id]; }
  /// Returns whether the number of columns is known to be a multiple of the vector width.
  bool has_whole_vectors() const;

 private:
  void find_axes(const KernelBlock& block, int id);
  const Kernel& kernel_;
  std::vector<uint64_t> axes_;  // per instruction, the axes along which it changes: one bit per axis
  std::vector<int> block_of_;
};

}  // namespace smelt
