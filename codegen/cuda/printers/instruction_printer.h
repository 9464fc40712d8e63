// Instructions one by one.
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

  void print(const BlockNest& nest, int id);
  /// Prints the instructions of a block that are outside of its loops, in the first, ...
  void print_depth(const BlockNest& nest, int depth);
  /// A row block, which has no loops.
  void print_row_block(const KernelBlock& block);

  /// The words from which all elements of a vector take their random bits.
  void declare_random_words(int id);
  bool draws_by_vector(int id) const;
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
