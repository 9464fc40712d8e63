// A kernel that is a part of an attention node, under construction: the parameters of what is around its
// body, then those of the body.
#pragma once

#include "codegen/lowering/program_builder.h"

namespace smelt {

class AttentionLowering {
 public:
  AttentionLowering(ProgramBuilder& builder, const Node& node, AttentionPart part);

  AttentionKernel& form() { return form_; }

  // ---- parameters, in the order in which the part has them

  /// [batch, places, heads, width]: an input that is not contiguous along the width is copied.
  void add_heads(const Value& value, bool of_keys, bool written);
  /// Adds operands 1 and 2 of the node; where gathers take them from rows of a table, adds that table.
  void add_keys_and_values();
  /// Adds the table rows of keys and values, where there is a table.
  void add_places();
  /// f32[batch, heads, queries], compact: other layouts are copied.
  void add_rows(const Value& value, bool written);
  void add_sums(const Value& value) { form_.sums.push_back(add(value, true)); }
  int add(DType dtype, BufferRef place, bool read, bool written);

  /// The kernel and its step.
  void finish();

 protected:
  int add(const Value& value, bool written) {
    return add(value, {value.layout->buffer, value.layout->offset}, written);
  }
  int add(const Value& value, BufferRef place, bool written) {
    return add(value.dtype(), std::move(place), !written, written);
  }
  /// A parameter of the body, whose own number it becomes.
  int add_argument(KernelParam param, BufferRef place);

  ProgramBuilder& builder_;
  const Node& node_;
  AttentionKernel form_;
  Kernel kernel_;
  std::vector<BufferRef> arguments_;
  RandomDraws draws_;

 private:
  int dense_copy(const Value& value);
  void add_rows_of_table(const Node& gather);
};

}  // namespace smelt
