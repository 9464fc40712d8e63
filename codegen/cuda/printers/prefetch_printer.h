// Loads that are issued before their block. Loads for the next rows of a grid-stride loop go to shared
// memory, where each thread reads only its own loads, so no barrier is needed. Loads for later blocks go to
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

  /// Before the loop over rows: prefetches the first ones, `first` and those after it, `step` apart.
  void print_first_rows(const std::string& first, int64_t step);
  /// At the top of the loop: prefetches one more row and waits for the current row.
  void print_next_row(int64_t step);
  /// Before a row's blocks: loads of the form `early`.
  void print_early_loads();

  /// Returns the location of the vector of such a load.
  std::string prefetched_vector(int id) const;
  std::string early_vector(int id) const;

 private:
  void print_row(const std::string& row, const std::string& stage);
  std::string place(int id, const std::string& stage) const;

  CudaContext& c_;
  const AddressPrinter& addresses_;
  std::map<int, int64_t> offsets_;  // in a stage, which holds a row: of each load's vectors, in bytes
  int64_t stage_bytes_ = 0;
};

}  // namespace smelt
