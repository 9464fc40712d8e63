// The work on vectors of columns: whole-vector loads, a loop over their elements, whole-vector stores.
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

  /// Called before a block's vectors: nothing is loaded yet.
  void begin_block() { loaded_.clear(); }
  /// Declares the arrays that vectors are loaded to, one for each vector in flight; `slots` is a suffix of
  /// their names.
  void declare_loads(const BlockNest& nest, const std::string& slots);
  void print_loads(const BlockNest& nest, const std::string& slot);
  /// Prints all other work on one vector: whole-vector operations before its elements, its elements, and
  /// whole-vector operations after them.
  void print_vector(const BlockNest& nest, const std::string& slot);

  /// The registers of column values that later blocks read.
  void declare_kept(const KernelBlock& block);
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
  std::map<int, std::string> loaded_;  // by load: the array that it goes to
};

}  // namespace smelt
