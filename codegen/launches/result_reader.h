// Conversion of a kernel to an epilogue of the matmul whose result the kernel reads. The kernel reads the
// result element by element. As an epilogue, it gets these elements from the template that computes the
// matmul. The passes `gemm_epilogues` and `small_m_epilogues` use this conversion.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program/program.h"

namespace smelt {

/// A matmul's result. It has m rows, and `parts` * n columns: the columns consist of adjacent parts of n
/// columns each. One call of the epilogue processes the same column of each part.
struct ProductShape {
  BufferRef base;
  Dim m, n, pitch;  // pitch: elements from row to row
  DType dtype = DType::bf16;
  int parts = 1;
};

/// The kernel under conversion, `kernel`, and its arguments. The functions below change both.
class ResultReader {
 public:
  ResultReader(const Program& program, const KernelStep& reader, const ProductShape& product);

  /// Returns whether the kernel's axes and blocks have the form of an epilogue. The last axis must be a
  /// column axis, and all others parallel axes. There must be one block that loops over columns, and no
  /// reductions. `row_blocks`: there may also be blocks that run once per row.
  bool has_form(bool row_blocks) const;
  /// Moves blocks that run once per row into the block of columns if they compute the same in all rows, such
  /// as a number that is read from memory.
  void join_uniform_blocks();
  /// Collapses the kernel's axes where possible, and splits a single axis into rows and columns. Returns
  /// whether the rows and columns of the kernel are then those of the result.
  bool walks_result();
  /// Replaces loads of the result by block arguments of the template (Instruction::Kind::handed). Returns
  /// false if the kernel does not load the result, or accesses it in another way than by loads of the current
  /// element.
  bool hand_result();
  /// Adds an instruction that stores the matmul's result.
  void store_result();
  /// Removes the input parameters for the matmul's result, and their arguments. Requires: hand_result has
  /// returned true, so no instruction accesses these parameters.
  void drop_result();
  /// Adds an input parameter and its argument. Returns the number of the parameter.
  int add_operand(std::string name, DType dtype, const BufferRef& base);
  /// Sets the alignment of every parameter to alignment_of its argument.
  void align_params();

  Kernel kernel;
  std::vector<BufferRef> arguments;

 private:
  bool is_result(const Access& access) const;
  std::optional<int> part_of(const Access& access) const;
  void split_single_axis();

  const Program& program_;
  const ProductShape product_;
  Access result_;
};

/// Returns whether the divisor divides the coefficient of every term of a size. It then divides the size for
/// all values of the symbols.
bool is_multiple(const Dim& dim, int64_t divisor);
/// Returns the largest known alignment of an argument's address, at most 16 bytes. It depends on the offset
/// alone, because buffers begin at multiples of 256 bytes.
int64_t alignment_of(const BufferRef& argument, DType dtype);

}  // namespace smelt
