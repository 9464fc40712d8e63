// Loads that are issued before the block that uses them. In a grid-stride loop, loads for the next rows go to
// shared memory; each thread reads there only what it has loaded itself, so no barrier is needed. Loads for
// later blocks of the current row go to registers.
#pragma once

#include <map>
#include <string>

#include "codegen/cuda/printers/address_printer.h"
#include "codegen/cuda/printers/cuda_context.h"

namespace smelt {

class PrefetchPrinter {
 public:
  PrefetchPrinter(CudaContext& context, const AddressPrinter& addresses);

  /// Prints, before the loop over rows, prefetches of the first Schedule::prefetch_distance rows: `first`,
  /// first + step, ...
  void print_first_rows(const std::string& first, int64_t step);
  /// Prints, at the top of the loop, the prefetch of one more row and the wait for the current row.
  void print_next_row(int64_t step);
  /// Prints, before a row's blocks, the loads of the form `early`.
  void print_early_loads();

  /// Return an expression for the thread's k-th vector (k is a variable of the text) that a load of the form
  /// `prefetched` has stored in shared memory, or that a load of the form `early` has stored in registers.
  std::string prefetched_vector(int id) const;
  std::string early_vector(int id) const;

 private:
  void print_row(const std::string& row, const std::string& stage);
  std::string place(int id, const std::string& stage) const;

  CudaContext& c_;
  const AddressPrinter& addresses_;
  /// Offset of the vectors of each prefetched load in a stage, in bytes. A stage is the shared memory of the
  /// prefetched data of one row per team.
  std::map<int, int64_t> offsets_;
  int64_t stage_bytes_ = 0;
};

}  // namespace smelt
