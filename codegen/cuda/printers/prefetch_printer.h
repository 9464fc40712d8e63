// Loads that are issued before the block of the kernel (KernelBlock in ir/kernel/kernel.h) that uses them.
// They have one of two forms (Form in the same file). Loads of the form `prefetched` are for the next rows of
// a grid-stride loop, and go to shared memory. No barrier is needed, because each thread reads only data that
// it has loaded itself. Loads of the form `early` are for later blocks of the current row, and go to
// registers.
#pragma once

#include <map>
#include <string>

#include "codegen/cuda/printers/address_printer.h"
#include "codegen/cuda/printers/cuda_context.h"

namespace smelt {

class PrefetchPrinter {
 public:
  PrefetchPrinter(CudaContext& context, const AddressPrinter& addresses);

  /// Called before the loop over rows. Prints prefetches of the first Schedule::prefetch_distance rows, which
  /// are the rows `first`, first + step, first + 2 * step and so on.
  void print_first_rows(const std::string& first, int64_t step);
  /// Called at the beginning of the loop's body. Prints the prefetch of one more row, and a wait for the data
  /// of the current row.
  void print_next_row(int64_t step);
  /// Called before the blocks of a row. Prints the loads of the form `early`.
  void print_early_loads();

  /// Return an expression for the thread's vector number k that load number `id` has loaded. k is a variable
  /// of the CUDA text. The load has the form `prefetched` for the first function, and `early` for the second.
  std::string prefetched_vector(int id) const;
  std::string early_vector(int id) const;

 private:
  void print_row(const std::string& row, const std::string& stage);
  std::string place(int id, const std::string& stage) const;

  CudaContext& c_;
  const AddressPrinter& addresses_;
  /// For each prefetched load: the offset, in bytes, of its vectors in a stage. A stage is the shared memory
  /// for the prefetched data of one row of each thread group.
  std::map<int, int64_t> offsets_;
  int64_t stage_bytes_ = 0;
};

}  // namespace smelt
