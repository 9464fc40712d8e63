// Thread IR of single instructions of a kernel. `id` is the number of an instruction in Kernel::instructions.
// A vector is a fixed number of adjacent columns that one thread computes together.
#pragma once

#include "codegen/gpu/lower/address_lowering.h"
#include "codegen/gpu/lower/lowering_context.h"
#include "codegen/gpu/lower/reduction_lowering.h"

namespace smelt::gpu {

class InstructionLowering {
 public:
  InstructionLowering(LoweringContext& context, AddressLowering& addresses, ReductionLowering& reductions)
      : c_(context), addresses_(addresses), reductions_(reductions) {}

  /// Appends the code of one instruction of the block that `nest` describes.
  void lower(const BlockNest& nest, int id);
  /// Appends the instructions of a block at one depth of its loop nest: 0 is before all loops, 1 is in the
  /// outermost loop.
  void lower_depth(const BlockNest& nest, int depth);
  /// Appends all instructions of a row block, which has no loops.
  void lower_row_block(const KernelBlock& block);

  /// Appends one call of Philox (a counter-based generator), whose result has the random bits of all elements
  /// of a vector. Requires: draws_by_vector(id).
  void declare_random_words(int id);
  /// Returns whether a random instruction draws the bits of all elements of a vector by one Philox call.
  bool draws_by_vector(int id) const;
  /// Returns whether a store writes all elements of a vector by one store.
  bool stores_by_vector(const BlockNest& nest, int id) const;
  /// Returns the array of the elements that a store writes by one store.
  Expr stored_vector(int id) const { return variable_of("s", id, Type(c_.memory_type(id)).array(1)); }

 private:
  void lower_scalar(int id);
  Expr scalar_value(int id) const;
  void lower_convert(int id);
  void lower_random(int id);
  void lower_load(int id);
  void lower_store(const BlockNest& nest, int id);
  void lower_accumulate(int id);
  Expr accumulator(int id) const;
  Expr random_row(const Instruction& x) const;
  Expr random_column(const Instruction& x, const Expr& index) const;
  static Expr random_words(int id) { return variable_of("w", id, Type(Scalar::bits).array(1)); }
  static Expr random_id(const Instruction& x) { return variable_of("id", x.slot, Scalar::bits); }
  Expr axis_number(int axis) const;
  const Expr& operand(const Instruction& x, int i) const { return c_.value_of(x.operands[i]); }

  LoweringContext& c_;
  AddressLowering& addresses_;
  ReductionLowering& reductions_;
};

}  // namespace smelt::gpu
