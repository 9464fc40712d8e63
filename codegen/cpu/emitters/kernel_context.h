// State that the emitters of one kernel share: the kernel, the sizes of its vectors and tiles, the builders
// of LLVM instructions, the function, and the current position in the code. `id` is the number of an
// instruction in Kernel::instructions. The range of a kernel (Kernel::range) is divided into items. An item
// is a row, one tile of the columns of a row, or a single column (range_emitter.h).
#pragma once

#include <vector>

#include "codegen/cpu/emitters/function_frame.h"
#include "codegen/cpu/memory_types.h"
#include "codegen/cpu/target.h"
#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel/kernel.h"
#include "llvm/IR/Module.h"

namespace smelt {

/// The vector of columns that code is being emitted for. The inner axis is the last column axis of the
/// kernel.
struct Lanes {
  bool inner = false;            // within the innermost loop; else code is for scalars
  int width = 1;                 // number of lanes; 1: a scalar
  llvm::Value* first = nullptr;  // index of lane 0 along the inner axis (i64); null outside of vectors
  llvm::Value* mask = nullptr;   // null: all lanes are on
};

/// The position in the kernel where code is being emitted. `row_begin`, `row_end` and `may_store_row`
/// describe the current item of the kernel's range.
struct KernelPlace {
  Lanes lanes;
  std::vector<llvm::Value*> indices;  // current index along each axis of the kernel, i64
  llvm::Value* row_begin = nullptr;   // first column of the inner axis that the item computes
  llvm::Value* row_end = nullptr;     // one past the last of these columns
  /// i1: whether the current item stores the values that are the same for all columns of a row. The columns
  /// of a row may be split among several items, and only the first of them stores these values. Null: all do.
  llvm::Value* may_store_row = nullptr;
  llvm::Value* tile_first = nullptr;  // column of element 0 of a tile's arrays: a multiple of 8
};

/// The state that all emitters of one kernel share.
class KernelContext {
 public:
  using V = llvm::Value*;

  /// Creates the context, and a function of this name in `module`.
  KernelContext(const Kernel& kernel, const std::string& name, llvm::Module& module,
                const TargetTraits& traits);
  KernelContext(const KernelContext&) = delete;  // its members refer to its builder

  const Kernel& kernel;
  const Schedule& schedule;
  const KernelShape shape;
  /// Axes whose indices are computed from the number of an item of the kernel's range.
  const std::vector<int> range_axes;
  const int width;     // elements of a vector
  const int64_t tile;  // columns that are processed at a time

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
  /// Throws Error (internal) that names the kernel and an instruction.
  [[noreturn]] void reject(int id, const char* what) const;

  // ---- tiles and rows
  /// Returns whether an item of the kernel's range is one tile of columns instead of a whole row. This is the
  /// case if the kernel has reduced axes and column axes.
  bool has_tiles_in_range() const { return shape.is_reduced() && shape.inner >= 0; }
  /// Returns whether an item is known to have at most `tile` columns along the inner axis.
  bool has_one_tile() const;
  /// Returns whether every vector of a tile or of a row is known to be whole.
  bool has_whole_vectors() const;
  /// Returns an upper bound for the columns of a row, for arrays that hold a whole row. Throws Error
  /// (internal) if none is known.
  int64_t row_elements() const;

  // ---- sizes and indices
  V dim(const Dim& dim) { return frame.dim(dim); }
  V inner_extent() { return dim(kernel.axes[shape.inner].extent); }
  V row_length() { return b.CreateSub(place.row_end, place.row_begin); }
  V smaller(V left, V right) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, right); }
  /// Returns the current index along an axis, an i32: one per lane for the inner axis, else a scalar.
  V axis_index(int axis);
};

/// Returns the constant vector 0, 1, ..., width - 1, or the scalar 0 if the width is 1.
llvm::Value* lane_numbers(llvm::Type* element, int width);
inline llvm::Align alignment_of(DType type) { return llvm::Align(size_of(type)); }

}  // namespace smelt
