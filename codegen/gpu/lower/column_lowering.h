// Column blocks (KernelBlock in ir/kernel/kernel.h) in kernels without reduced axes. A thread group ("team")
// computes a row. Its threads loop over the vectors of the row; neighbouring threads process neighbouring
// vectors. Each thread issues several loads before it uses the first one.
#pragma once

#include "codegen/gpu/lower/address_lowering.h"
#include "codegen/gpu/lower/instruction_lowering.h"
#include "codegen/gpu/lower/lowering_context.h"
#include "codegen/gpu/lower/reduction_lowering.h"
#include "codegen/gpu/lower/vector_lowering.h"

namespace smelt::gpu {

class ColumnLowering {
 public:
  ColumnLowering(LoweringContext& context, AddressLowering& addresses, InstructionLowering& instructions,
                 ReductionLowering& reductions, VectorLowering& vectors)
      : c_(context),
        addresses_(addresses),
        instructions_(instructions),
        reductions_(reductions),
        vectors_(vectors) {}

  void lower(const KernelBlock& block);

 private:
  /// Vectors of one thread whose loads are all issued before the arithmetic. If there are several vectors,
  /// the code loops over them twice: once for the loads, and once for the arithmetic.
  struct Group {
    Expr variable;       // loop variable: the number of a vector in the group
    int64_t count = 1;   // number of vectors
    Expr position;       // the first column of a vector
    Expr slot;           // the number of a vector among those in registers
    Expr declared = {};  // the value of `slot`, if that is a variable of the loop's body
    Expr exists = {};    // condition under which the vector exists; nothing: always
  };
  void lower_loops(const BlockNest& nest, size_t depth);
  void lower_vectors(const BlockNest& nest);
  void lower_row_in_registers(const BlockNest& nest);
  void lower_row_in_rounds(const BlockNest& nest);
  void lower_row_in_loop(const BlockNest& nest);
  void lower_group(const BlockNest& nest, const Group& group);
  void open_vector(const Group& group);
  void close_vector();
  Expr after_first(const Expr& column) const;
  void declare_inverses(const BlockNest& nest);
  void declare_inverse(int divisor, bool scaled);

  LoweringContext& c_;
  AddressLowering& addresses_;
  InstructionLowering& instructions_;
  ReductionLowering& reductions_;
  VectorLowering& vectors_;
};

}  // namespace smelt::gpu
