// Printing of single instructions of a kernel as CUDA C++. `id` is the number of an instruction in
// Kernel::instructions. A vector is a fixed number of adjacent columns that one thread computes together.
#pragma once

#include <string>

#include "codegen/cuda/printers/address_printer.h"
#include "codegen/cuda/printers/cuda_context.h"
#include "codegen/cuda/printers/reduction_printer.h"

namespace smelt {

class InstructionPrinter {
 public:
  InstructionPrinter(CudaContext& context, AddressPrinter& addresses, ReductionPrinter& reductions)
      : c_(context), addresses_(addresses), reductions_(reductions) {}

  /// Prints the code of one instruction of the block that `nest` describes.
  void print(const BlockNest& nest, int id);
  /// Prints the instructions of a block at one depth of its loop nest: 0 is before all loops, 1 is in the
  /// outermost loop.
  void print_depth(const BlockNest& nest, int depth);
  /// Prints all instructions of a row block, which has no loops.
  void print_row_block(const KernelBlock& block);

  /// Prints one call of Philox (a counter-based generator), whose result has the random bits of all elements
  /// of a vector. Requires: draws_by_vector(id).
  void declare_random_words(int id);
  /// Returns whether a random instruction draws the bits of all elements of a vector by one Philox call.
  bool draws_by_vector(int id) const;
  /// Returns whether a store writes all elements of a vector by one store.
  bool stores_by_vector(const BlockNest& nest, int id) const;

 private:
  void print_scalar(int id);
  void print_convert(int id);
  void print_random(int id);
  void print_load(int id);
  void print_store(const BlockNest& nest, int id);
  void print_accumulate(int id);
  std::string accumulator(int id) const;
  std::string random_row(const Instruction& x) const;
  std::string random_column(const Instruction& x, const std::string& index) const;
  std::string axis_number(int axis) const;
  std::string operand(const Instruction& x, int i, CudaKind kind) const {
    return c_.value_as(x.operands[i], kind);
  }

  CudaContext& c_;
  AddressPrinter& addresses_;
  ReductionPrinter& reductions_;
};

}  // namespace smelt
