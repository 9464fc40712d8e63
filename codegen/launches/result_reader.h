// A kernel that goes on with each element of a matmul's result, made the body of a template that makes these
// elements: what `gemm_bodies` and `few_row_bodies` share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace smelt {

/// A result of `parts` neighbouring parts of n columns each, of which the body sees one column each at a
/// time.
struct ProductShape {
  BufferRef base;
  Dim m, n, pitch;  // of its rows
  DType dtype = DType::bf16;
  int parts = 1;
};

class ResultReader {
 public:
  ResultReader(const Program& program, const KernelStep& reader, const ProductShape& product);

  /// Rows without reductions: blocks of column code along the last axis, of rows where `row_blocks`, and with
  /// the result's rows and columns.
  bool has_form(bool row_blocks) const;
  bool walks_result();
  /// Loads of the result become what the template hands; false where one is not of the element at hand.
  bool hand_result();
  /// In addition the body stores the result.
  void store_result();
  /// The parameter goes where nothing stores it.
  void drop_result();
  int add_operand(std::string name, DType dtype, const BufferRef& base);
  /// Bytes that every argument's address is a multiple of: buffers begin at multiples of 256.
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

/// Whether the divisor divides all that a size can be.
bool is_multiple(const Dim& dim, int64_t divisor);
/// What divides the address of an argument, in bytes.
int64_t alignment_of(const BufferRef& argument, DType dtype);

}  // namespace smelt
