// Makes a kernel that reads a matmul's result element by element the epilogue of a template that computes
// these elements; shared by `gemm_epilogues` and `small_m_epilogues`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program/program.h"

namespace smelt {

/// A result of `parts` neighbouring parts of n columns each. The body reads one column of each part per call.
struct ProductShape {
  BufferRef base;
  Dim m, n, pitch;  // of its rows
  DType dtype = DType::bf16;
  int parts = 1;
};

class ResultReader {
 public:
  ResultReader(const Program& program, const KernelStep& reader, const ProductShape& product);

  /// Returns whether the kernel has rows without reductions: blocks of column code along the last axis, of
  /// rows where `row_blocks`, and with the result's rows and columns.
  bool has_form(bool row_blocks) const;
  bool walks_result();
  /// Makes loads of the result block arguments of the template; false where one is not of the current
  /// element.
  bool hand_result();
  /// Makes the body store the result, too.
  void store_result();
  /// Removes the parameter of the result where nothing stores it.
  void drop_result();
  int add_operand(std::string name, DType dtype, const BufferRef& base);
  /// Sets the alignment of every parameter: the bytes that its argument's address is a multiple of. Buffers
  /// begin at multiples of 256.
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

/// Returns whether the divisor divides every value of a size.
bool is_multiple(const Dim& dim, int64_t divisor);
/// Returns the largest known divisor of an argument's address, in bytes.
int64_t alignment_of(const BufferRef& argument, DType dtype);

}  // namespace smelt
