// State that the printers of one kernel share: the kernel, the numbers of threads and vectors of its
// schedule, names, the text so far, and the current position in the text. A team is a group of threads that
// share a row. `id` is the number of an instruction in Kernel::instructions. A KernelBlock is straight-line
// code in a loop nest of the kernel; it is unrelated to thread blocks. The variable c of the text is the
// first column of the current vector.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cuda/code_text.h"
#include "codegen/cuda/expressions.h"
#include "codegen/cuda/printers/cuda_names.h"
#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel/kernel.h"

namespace smelt {

/// The current position in the text. The guards are conditions; "" is a condition that always holds.
struct CudaPlace {
  bool in_lanes = false;   // within the loop over the elements of a vector
  std::string lane_guard;  // condition that the current element exists
  /// Condition under which this thread stores the values that do not change along the columns.
  std::string row_guard;
  std::string slot;                  // index of the current vector among those in registers
  std::vector<std::string> indices;  // current index along each axis of the kernel
};

/// Sizes, in words of 4 bytes, of the arrays shared_floats and shared_ints of a thread block.
struct SharedWords {
  int64_t floats = 0, ints = 0;
  int64_t prefetched = 0;  // words at the beginning of shared_floats that hold prefetched rows

  /// Make the array at least `count` words long.
  void need_floats(int64_t count) { floats = std::max(floats, count); }
  void need_ints(int64_t count) { ints = std::max(ints, count); }
};

class CudaContext {
 public:
  /// `block`: an expression for the number of the thread block.
  CudaContext(const Kernel& kernel, std::string block);

  const Kernel& kernel;
  const Schedule& schedule;
  const KernelShape shape;
  const CudaNames names;
  const std::string block;
  const int width, lanes, teams;  // elements of a vector, threads of a team, teams of a thread block
  /// Vectors of a row that a thread holds in registers (0: it loops over them), and vectors that it loads at
  /// a time.
  const int64_t vectors, unroll;

  CodeText out;
  CudaPlace place;
  SharedWords shared;

  // ---- the kernel
  const Instruction& instruction(int id) const { return kernel.instructions[id]; }
  const KernelParam& param(int id) const { return kernel.params[instruction(id).access.param]; }
  /// Returns the kind of the element in memory that an instruction reads or writes.
  CudaKind memory_kind(int id) const { return cuda_kind(param(id).dtype); }
  /// Returns whether the instruction's value is kept for later KernelBlocks (Schedule::cached).
  bool is_cached(int id) const;
  bool is_flag(int id) const { return cuda_kind(instruction(id).dtype) == CudaKind::flag; }
  /// Throws Error (internal) that names the kernel and the instruction. `what`: the reason.
  [[noreturn]] void reject(int id, const char* what) const;

  // ---- values
  bool has_value(int id) const { return values_[id].has_value(); }
  void set_value(int id, CudaValue value) { values_[id] = std::move(value); }
  /// Prints the definition of a variable for the instruction's value, and sets the value to the variable.
  void define(int id, CudaKind kind, const std::string& text);
  /// Returns the value of an instruction. An instruction of an earlier KernelBlock has a value only if the
  /// value is the same for all columns of a row, or is kept (is_cached). Throws Error (internal) if the
  /// instruction has no value.
  const CudaValue& value_of(int id) const;
  std::string value_as(int id, CudaKind kind) const { return coerce(value_of(id), kind); }
  /// Returns the value of an instruction as an index of 32 or 64 bits.
  std::string index_text(int id) const {
    return value_of(id).kind == CudaKind::wide ? value_of(id).text : value_as(id, CudaKind::integer);
  }
  /// Returns the condition under which the instruction runs; "" if it has no predicate.
  std::string predicate_of(int id) const;

  // ---- sizes and indices
  std::string dim(const Dim& dim) const { return names.dim(dim); }
  std::string extent(int axis) const { return dim(kernel.axes[axis].extent); }
  /// Returns offset + the sum over all axes of stride times current index, without the term of the axis
  /// `skipped` (-1: none).
  std::string index_sum(const Dim& offset, const std::vector<Dim>& strides, int skipped = -1) const;
  /// Prints variables for the indices along `axes`, which are computed from the number `item`, and makes them
  /// current. The index along the last axis varies fastest.
  void declare_indices(const std::string& item, const std::vector<int>& axes);
  /// Return the number of the thread in its team, and of the current element in its vector.
  std::string lane() const { return lanes > 1 ? "lane" : "0"; }
  std::string element() const { return width > 1 ? "j" : "0"; }
  /// Returns the first column of the thread's k-th vector.
  std::string column_of_vector() const { return fmt::format("(k * {} + {}) * {}", lanes, lane(), width); }
  /// Returns an expression for the end of the columns that a team processes.
  std::string columns_end() const;
  /// Returns an expression for the number of columns from c to columns_end(). Returns the vector width
  /// instead if all vectors are known to be whole.
  std::string columns_left() const;
  /// Print the beginning and the end of a conditional block for `c < columns_end()`. Print nothing if
  /// covers_rows_exactly().
  void open_existing_columns();
  void close_existing_columns();
  /// Returns whether the number of a row's columns is known to be exactly the number that a team holds in
  /// registers, so that no column needs a check.
  bool covers_rows_exactly() const;

  /// Prints a barrier of all threads of a team.
  void team_barrier();
  /// Returns whether consecutive rows use two buffers in shared memory in turn to exchange states of
  /// reductions. This is the case in grid-stride loops over rows if a team has several warps.
  bool alternates_buffers() const;

 private:
  std::vector<std::optional<CudaValue>> values_;
};

/// Returns the conjunction of all conditions that are not ""; "" if there are none.
std::string conditions(std::vector<std::string> all);

}  // namespace smelt
