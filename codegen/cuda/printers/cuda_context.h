// State that the printers of one kernel share: the kernel, its schedule as counts of threads and vectors,
// names, the text so far, and the current position in the text.
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

/// The current position in the text. The guards are conditions, "" where they always hold.
struct CudaPlace {
  bool in_lanes = false;             // within the loop over the elements of a vector
  std::string lane_guard;            // the element at hand exists
  std::string row_guard;             // this thread stores row scalars
  std::string slot;                  // of the vector at hand among those in registers
  std::vector<std::string> indices;  // of the kernel's axes
};

/// Words of the shared memory of a block of threads.
struct SharedWords {
  int64_t floats = 0, ints = 0;
  int64_t prefetched = 0;  // of the floats: those in front, which prefetched rows take

  void need_floats(int64_t count) { floats = std::max(floats, count); }
  void need_ints(int64_t count) { ints = std::max(ints, count); }
};

class CudaContext {
 public:
  /// `block`: the text of the number of the block of threads.
  CudaContext(const Kernel& kernel, std::string block);

  const Kernel& kernel;
  const Schedule& schedule;
  const KernelShape shape;
  const CudaNames names;
  const std::string block;
  const int width, lanes, teams;  // elements of a vector, threads of a team, teams of a block
  const int64_t vectors, unroll;  // of a row in a thread (0: a loop), in flight at a time

  CodeText out;
  CudaPlace place;
  SharedWords shared;

  // ---- the kernel
  const Instruction& instruction(int id) const { return kernel.instructions[id]; }
  const KernelParam& param(int id) const { return kernel.params[instruction(id).access.param]; }
  /// Returns the kind of the element in memory that an instruction reads or writes.
  CudaKind memory_kind(int id) const { return cuda_kind(param(id).dtype); }
  bool is_cached(int id) const;
  bool is_flag(int id) const { return cuda_kind(instruction(id).dtype) == CudaKind::flag; }
  [[noreturn]] void reject(int id, const char* what) const;

  // ---- values
  bool has_value(int id) const { return values_[id].has_value(); }
  void set_value(int id, CudaValue value) { values_[id] = std::move(value); }
  /// A line that gives the instruction's value a name.
  void define(int id, CudaKind kind, const std::string& text);
  /// A value of this block, a row scalar, or a column value that an earlier block kept.
  const CudaValue& value_of(int id) const;
  std::string value_as(int id, CudaKind kind) const { return coerce(value_of(id), kind); }
  /// A computed index, of 32 or 64 bits.
  std::string index_text(int id) const {
    return value_of(id).kind == CudaKind::wide ? value_of(id).text : value_as(id, CudaKind::integer);
  }
  /// "" where there is no predicate.
  std::string predicate_of(int id) const;

  // ---- sizes and indices
  std::string dim(const Dim& dim) const { return names.dim(dim); }
  std::string extent(int axis) const { return dim(kernel.axes[axis].extent); }
  /// offset + sum of strides times indices, but for one axis.
  std::string index_sum(const Dim& offset, const std::vector<Dim>& strides, int skipped = -1) const;
  /// Indices along `axes`, the last of them fastest, from the number of an item.
  void declare_indices(const std::string& item, const std::vector<int>& axes);
  /// The number of the thread in its team, and of the element in its vector.
  std::string lane() const { return lanes > 1 ? "lane" : "0"; }
  std::string element() const { return width > 1 ? "j" : "0"; }
  /// The first column of the thread's k-th vector.
  std::string column_of_vector() const { return fmt::format("(k * {} + {}) * {}", lanes, lane(), width); }
  /// Return the end of the columns that a team works on, and the number of columns from c to that end.
  std::string columns_end() const;
  std::string columns_left() const;
  /// Opens a block of code for columns within the row; nothing where all are.
  void open_existing_columns();
  void close_existing_columns();
  /// Returns whether the registers of a team hold exactly a row.
  bool covers_rows_exactly() const;

  /// Prints a barrier of all threads of a team.
  void team_barrier();
  /// Returns whether rows alternate between two exchange buffers: in grid-stride loops with teams of several
  /// warps.
  bool alternates_buffers() const;

 private:
  std::vector<std::optional<CudaValue>> values_;
};

/// All of them hold; "" where none is given.
std::string conditions(std::vector<std::string> all);

}  // namespace smelt
