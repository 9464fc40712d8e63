// Construction of a kernel that computes a part (AttentionPart, such as forward) of an attention node. The
// kernel's first parameters are those of its template: queries, keys, values, results and so on. The
// parameters of the body (the score_mod) follow.
#pragma once

#include "codegen/lowering/program_builder.h"

namespace smelt {

/// One such kernel under construction.
class AttentionLowering {
 public:
  AttentionLowering(ProgramBuilder& builder, const Node& node, AttentionPart part);

  /// Returns the description of the attention that becomes Kernel::attention.
  AttentionKernel& form() { return form_; }

  // ---- parameters, added in the order in which the template has them
  /// Adds a matrix [batch, positions, heads, width], such as the queries. An input that is not contiguous
  /// along the width is copied first. Throws Error (internal) if an output is not contiguous along the width.
  /// `of_keys`: the positions and heads are those of keys; false: those of queries. `written`: the matrix is
  /// an output.
  void add_heads(const Value& value, bool of_keys, bool written);
  /// Adds the keys and values, operands 1 and 2 of the node. If an operand is a gather of rows of a table,
  /// such as a paged KV cache, adds the table instead.
  void add_keys_and_values();
  /// Adds the scales of keys and of values, operands 3 and 4 of the node, if these are codes. They are in
  /// rows of tables if the codes are.
  void add_scales();
  /// If the keys are gathered from a table, adds the matrix i32[batch, keys] that gives the table row of each
  /// key. Else adds nothing.
  void add_places();
  /// Adds an array with one number per query, f32[batch, heads, queries], such as LSE. An input that is not
  /// compact is copied first.
  void add_rows(const Value& value, bool written);
  /// Adds an output parameter for the gradient `value` of a value that the body reads.
  void add_sums(const Value& value) { form_.sums.push_back(add(value, true)); }
  /// Adds a parameter and its argument. Returns the number of the parameter.
  int add(DType dtype, BufferRef place, bool read, bool written);

  /// Adds the kernel to the program, and a step that runs it.
  void finish();

 protected:
  int add(const Value& value, bool written) {
    return add(value, {value.layout->buffer, value.layout->offset}, written);
  }
  int add(const Value& value, BufferRef place, bool written) {
    return add(value.dtype(), std::move(place), !written, written);
  }
  /// Adds a parameter of the body. Returns its number.
  int add_argument(KernelParam param, BufferRef place);

  ProgramBuilder& builder_;
  const Node& node_;
  AttentionKernel form_;
  Kernel kernel_;
  std::vector<BufferRef> arguments_;
  RandomDraws draws_;

 private:
  int dense_copy(const Value& value);
  AttentionSpec::Matrix rows_of_table(const Node& gather);
};

}  // namespace smelt
