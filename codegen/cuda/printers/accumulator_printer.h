// Printing of the partial sums of `accumulate` instructions, which a thread block keeps while it loops over
// rows. The instruction's access and Schedule::vectors determine whether a sum is kept in one register per
// thread, in one register per column of a thread, or in memory. At the end the block adds up the registers of
// its threads and stores the sums in its slice of each partial parameter (KernelParam::partial).
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/printers/address_printer.h"
#include "codegen/cuda/printers/cuda_context.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

class AccumulatorPrinter {
 public:
  AccumulatorPrinter(CudaContext& context, const AddressPrinter& addresses)
      : c_(context), addresses_(addresses) {}

  /// Prints, before the loop over rows, the declarations of the registers, and code that sets the sums in
  /// memory to zero.
  void declare();
  /// Prints, after the loop, code that adds up the registers of the block's threads and stores the sums.
  void finish();

 private:
  void zero_memory();
  bool is_in_memory(int id) const;
  bool is_in_column_registers(int id) const;
  bool has_sums_in_memory(int param) const;
  bool is_written_whole(int param) const;
  bool adds_again(int id) const;
  const char* assignment(int id) const { return adds_again(id) ? "+=" : "="; }
  void finish_scalar(int id);
  void finish_columns(const std::vector<int>& ids);
  void open_own_columns();
  void close_own_columns();
  void write_column(int id, const std::string& value);
  void write_own_columns(int id);
  void add_side_by_side(llvm::ArrayRef<int> ids);
  void add_sequentially(int id);

  CudaContext& c_;
  const AddressPrinter& addresses_;
};

}  // namespace smelt
