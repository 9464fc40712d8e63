// The code for a vector of columns: whole-vector loads, a loop over its elements, whole-vector stores.
#pragma once

#include <map>
#include <string>

#include "codegen/cuda/printers/address_printer.h"
#include "codegen/cuda/printers/cuda_context.h"
#include "codegen/cuda/printers/instruction_printer.h"
#include "codegen/cuda/printers/prefetch_printer.h"
#include "codegen/cuda/printers/reduction_printer.h"

namespace smelt {

class VectorPrinter {
 public:
  VectorPrinter(CudaContext& context, AddressPrinter& addresses, const PrefetchPrinter& prefetch,
                InstructionPrinter& instructions, ReductionPrinter& reductions)
      : c_(context),
        addresses_(addresses),
        prefetch_(prefetch),
        instructions_(instructions),
        reductions_(reductions) {}

  /// Forgets the loads of the previous block. Called before the first vector of a block is printed.
  void begin_block() { loaded_.clear(); }
  /// Prints declarations of the arrays that vectors are loaded to. `slots`: their first dimension, such as
  /// "[4]" for four vectors in flight; "" for one vector.
  void declare_loads(const BlockNest& nest, const std::string& slots);
  /// Prints the loads of one vector. `slot`: the index of the vector in the first dimension of the arrays; ""
  /// for one vector.
  void print_loads(const BlockNest& nest, const std::string& slot);
  /// Prints all other code for one vector: whole-vector operations before the loop over its elements, that
  /// loop, and whole-vector operations after it. `slot`: the number of the vector among those in registers.
  void print_vector(const BlockNest& nest, const std::string& slot);

  /// Prints declarations of the registers that keep the block's column values for later blocks
  /// (Schedule::cached).
  void declare_kept(const KernelBlock& block);
  /// Returns whether the block has whole-vector loads.
  bool has_loads(const BlockNest& nest) const;

 private:
  bool loads_by_vector(const BlockNest& nest, int id) const;
  std::string source_of_load(int id) const;
  void declare_whole(const BlockNest& nest, int id);
  void finish_whole(const BlockNest& nest, int id);
  void print_lanes(const BlockNest& nest);
  void bind_values(const BlockNest& nest);
  void print_lane_instruction(const BlockNest& nest, int id);
  CudaValue kept_value(int id) const;
  void set_inner_index(const std::string& text);

  CudaContext& c_;
  AddressPrinter& addresses_;
  const PrefetchPrinter& prefetch_;
  InstructionPrinter& instructions_;
  ReductionPrinter& reductions_;
  std::map<int, std::string> loaded_;  // by number of a load: the array that print_loads has loaded
};

}  // namespace smelt
