// State that the lowerings of one kernel share: the kernel, the numbers of threads and vectors of its
// schedule, names, the code so far, and the current position in the code. A team is a group of threads that
// share a row. `id` is the number of an instruction in Kernel::instructions. A KernelBlock is straight-line
// code in a loop nest of the kernel; it is unrelated to thread blocks. The variable c of the code is the
// first column of the current vector.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/gpu/lower/kernel_names.h"
#include "codegen/gpu/lower/scalar_values.h"
#include "codegen/gpu/thread_ir/body_builder.h"
#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel/kernel.h"

namespace smelt::gpu {

/// The current position in the code. The guards are conditions; nothing is a condition that always holds.
struct Place {
  bool in_lanes = false;  // within the loop over the elements of a vector
  Expr lane_guard;        // condition that the current element exists
  /// Condition under which this thread stores the values that do not change along the columns.
  Expr row_guard;
  Expr slot;                  // index of the current vector among those in registers
  std::vector<Expr> indices;  // current index along each axis of the kernel
};

/// Sizes, in words of 4 bytes, of the arrays shared_floats and shared_ints of a thread block.
struct SharedWords {
  int64_t floats = 0, ints = 0;
  int64_t prefetched = 0;  // words at the beginning of shared_floats that hold prefetched rows

  /// Make the array at least `count` words long.
  void need_floats(int64_t count) { floats = std::max(floats, count); }
  void need_ints(int64_t count) { ints = std::max(ints, count); }
};

class LoweringContext {
 public:
  /// `block`: the number of the thread block.
  LoweringContext(const Kernel& kernel, Expr block);

  const Kernel& kernel;
  const Schedule& schedule;
  const KernelShape shape;
  const KernelNames names;
  const Expr block;
  const int width, lanes, teams;  // elements of a vector, threads of a team, teams of a thread block
  /// Vectors of a row that a thread holds in registers (0: it loops over them), and vectors that it loads at
  /// a time.
  const int64_t vectors, unroll;

  BodyBuilder out;
  Place place;
  SharedWords shared;

  // ---- the kernel
  const Instruction& instruction(int id) const { return kernel.instructions[id]; }
  const KernelParam& param(int id) const { return kernel.params[instruction(id).access.param]; }
  /// Returns the type that the element in memory which an instruction reads or writes is computed in.
  Scalar memory_type(int id) const { return computed_type(param(id).dtype); }
  /// Returns whether the instruction's value is kept for later KernelBlocks (Schedule::cached).
  bool is_cached(int id) const;
  bool is_flag(int id) const { return computed_type(instruction(id).dtype) == Scalar::flag; }
  /// Throws Error (internal) that names the kernel and the instruction. `what`: the reason.
  [[noreturn]] void reject(int id, const char* what) const;

  // ---- values
  bool has_value(int id) const { return static_cast<bool>(values_[id]); }
  void set_value(int id, Expr value) { values_[id] = std::move(value); }
  /// Appends the declaration of a variable for the instruction's value, and sets the value to the variable.
  void define(int id, const Expr& value);
  /// Returns the value of an instruction. An instruction of an earlier KernelBlock has a value only if the
  /// value is the same for all columns of a row, or is kept (is_cached). Throws Error (internal) if the
  /// instruction has no value.
  const Expr& value_of(int id) const;
  Expr value_as(int id, Scalar type) const { return converted(value_of(id), type); }
  /// Returns the value of an integer instruction as an index.
  Expr index_value(int id) const;
  /// Returns the condition under which the instruction runs; nothing if it has no predicate.
  Expr predicate_of(int id) const;

  // ---- sizes and indices
  Expr dim(const Dim& dim) const { return names.dim(dim); }
  Expr extent(int axis) const { return dim(kernel.axes[axis].extent); }
  /// Returns offset + the sum over all axes of stride times current index, without the term of the axis
  /// `skipped` (-1: none).
  Expr index_sum(const Dim& offset, const std::vector<Dim>& strides, int skipped = -1) const;
  /// Appends variables for the indices along `axes`, which are computed from the number `item`, and makes
  /// them current. The index along the last axis varies fastest.
  void declare_indices(const Expr& item, const std::vector<int>& axes);
  /// Return the number of the thread in its team, that of its team in the thread block, and that of the
  /// current element in its vector.
  Expr lane() const { return lanes > 1 ? variable("lane", Scalar::int32) : Expr(0); }
  Expr team() const { return variable("team", Scalar::int32); }
  Expr element() const { return width > 1 ? variable("j", Scalar::int32) : Expr(0); }
  /// Return the first column of the current vector, and of the thread's k-th vector.
  Expr column() const { return variable("c", Scalar::index); }
  Expr column_of_vector(const Expr& k) const { return (k * lanes + lane()) * width; }
  /// Returns the end of the columns that a team processes.
  Expr columns_end() const;
  /// Returns the number of columns from c to columns_end(). Returns the vector width instead if all vectors
  /// are known to be whole.
  Expr columns_left() const;
  /// Returns the condition that column c exists; nothing if covers_rows_exactly().
  Expr column_exists() const;
  /// Returns whether the number of a row's columns is known to be exactly the number that a team holds in
  /// registers, so that no column needs a check.
  bool covers_rows_exactly() const;

  // ---- threads
  /// Appends a barrier of all threads of a team.
  void team_barrier();
  /// Returns the mask of `lanes` lanes of a warp.
  static Expr mask_of(int lanes) { return bits(lanes == 32 ? 0xffffffffU : (1U << lanes) - 1); }
  /// Returns whether consecutive rows use two buffers in shared memory in turn to exchange states of
  /// reductions. This is the case in grid-stride loops over rows if a team has several warps.
  bool alternates_buffers() const;

  // ---- arrays of the thread block in shared memory
  static Expr shared_floats() { return variable("shared_floats", Type(Scalar::real).pointer_to()); }
  static Expr shared_ints() { return variable("shared_ints", Type(Scalar::int32).pointer_to()); }

 private:
  std::vector<Expr> values_;
};

/// Returns the variable PREFIX<id> of an instruction.
inline Expr variable_of(std::string_view prefix, int id, const Type& type) {
  return variable(fmt::format("{}{}", prefix, id), type);
}

}  // namespace smelt::gpu
