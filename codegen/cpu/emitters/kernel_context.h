// State that the emitters of one kernel share: the kernel, the sizes of its vectors and tiles, the builders
// for numbers and for types in memory, the function, and the current position in the code.
#pragma once

#include <vector>

#include "codegen/cpu/emitters/function_frame.h"
#include "codegen/cpu/memory_types.h"
#include "codegen/cpu/target.h"
#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel/kernel.h"
#include "llvm/IR/Module.h"

namespace smelt {

/// Outside of vectors, or in the vector (or scalar) from index `first` of the inner axis on.
struct Lanes {
  bool inner = false;
  int width = 1;
  llvm::Value* first = nullptr;
  llvm::Value* mask = nullptr;  // null: all lanes are on
};

/// The position in the kernel where code is being emitted.
struct KernelPlace {
  Lanes lanes;
  std::vector<llvm::Value*> indices;     // of the kernel's axes
  llvm::Value* row_begin = nullptr;      // of the inner axis: where the part begins that is worked on, ...
  llvm::Value* row_end = nullptr;        // ... and where it ends
  llvm::Value* may_store_row = nullptr;  // null: always
  llvm::Value* tile_first = nullptr;     // the column of the first element of a tile's arrays
};

class KernelContext {
 public:
  using V = llvm::Value*;

  /// Creates the context with a function of this name.
  KernelContext(const Kernel& kernel, const std::string& name, llvm::Module& module,
                const TargetTraits& traits);
  KernelContext(const KernelContext&) = delete;  // its parts refer to the builder

  const Kernel& kernel;
  const Schedule& schedule;
  const KernelShape shape;
  const std::vector<int> range_axes;  // whose indices an item of the range stands for
  const int width;                    // of vectors
  const int64_t tile;                 // columns that are worked on at a time

  llvm::IRBuilder<> b;
  ScalarMath math;
  MemoryTypes memory;
  FunctionFrame frame;
  KernelPlace place;

  // ---- the kernel
  const Instruction& instruction(int id) const { return kernel.instructions[id]; }
  const KernelParam& param(const Instruction& x) const { return kernel.params[x.access.param]; }
  /// Returns the type of the element in memory that an instruction reads or writes.
  llvm::Type* element_type(const Instruction& x) const { return memory.element(param(x).dtype); }
  [[noreturn]] void reject(int id, const char* what) const;

  // ---- tiles and rows
  /// Returns whether the range counts tiles of the inner axis as well: an item is one tile.
  bool has_tiles_in_range() const { return shape.is_reduced() && shape.inner >= 0; }
  /// Returns whether the range that is computed at a time is no longer than a tile.
  bool has_one_tile() const;
  /// Returns whether every vector of a tile or of a row is whole.
  bool has_whole_vectors() const;
  /// Returns a bound for the columns of a row, for arrays that hold a whole row.
  int64_t row_elements() const;

  // ---- sizes and indices
  V dim(const Dim& dim) { return frame.dim(dim); }
  V inner_extent() { return dim(kernel.axes[shape.inner].extent); }
  V row_length() { return b.CreateSub(place.row_end, place.row_begin); }
  V smaller(V left, V right) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, right); }
  /// i32, one a lane along the inner axis.
  V axis_index(int axis);
};

/// 0, 1, ..., a constant.
llvm::Value* lane_numbers(llvm::Type* element, int width);
inline llvm::Align alignment_of(DType type) { return llvm::Align(size_of(type)); }

}  // namespace smelt
