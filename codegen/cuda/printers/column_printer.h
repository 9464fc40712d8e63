// Prints the CUDA text of column blocks (KernelBlock in ir/kernel/kernel.h), in kernels without reduced axes.
// A thread group ("team") computes a row. Its threads loop over the vectors of the row; neighbouring threads
// process neighbouring vectors. Each thread issues several loads before it uses the first one.
#pragma once

#include <string>

#include "codegen/cuda/printers/address_printer.h"
#include "codegen/cuda/printers/cuda_context.h"
#include "codegen/cuda/printers/instruction_printer.h"
#include "codegen/cuda/printers/reduction_printer.h"
#include "codegen/cuda/printers/vector_printer.h"

namespace smelt {

class ColumnPrinter {
 public:
  ColumnPrinter(CudaContext& context, AddressPrinter& addresses, InstructionPrinter& instructions,
                ReductionPrinter& reductions, VectorPrinter& vectors)
      : c_(context),
        addresses_(addresses),
        instructions_(instructions),
        reductions_(reductions),
        vectors_(vectors) {}

  void print(const KernelBlock& block);

 private:
  /// Vectors of one thread whose loads are all issued before the arithmetic. If there are several vectors,
  /// the text loops over them twice: once for the loads, and once for the arithmetic.
  struct Group {
    std::string variable;         // loop variable: the number of a vector in the group
    int64_t count = 1;            // number of vectors
    std::string position;         // expression: the first column of a vector
    std::string slot;             // expression: the number of a vector among those in registers
    std::string first_line = {};  // first line of the loop body; "": none
    std::string exists = {};      // condition under which the vector exists; "": always
  };
  void print_loops(const BlockNest& nest, size_t depth);
  void print_vectors(const BlockNest& nest);
  void print_row_in_registers(const BlockNest& nest, const std::string& first);
  void print_row_in_rounds(const BlockNest& nest, const std::string& first);
  void print_row_in_loop(const BlockNest& nest, const std::string& first);
  void print_group(const BlockNest& nest, const Group& group);
  void open_vector(const Group& group);
  void close_vector();
  void declare_inverses(const BlockNest& nest);
  void declare_inverse(int divisor, bool scaled);

  CudaContext& c_;
  AddressPrinter& addresses_;
  InstructionPrinter& instructions_;
  ReductionPrinter& reductions_;
  VectorPrinter& vectors_;
};

}  // namespace smelt
