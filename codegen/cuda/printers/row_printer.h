// Printing of the body of a kernel without reduced axes. A thread group ("team") processes a row. If the
// kernel has no rows, but only a single column axis (Schedule::flat), each thread block processes a part of
// the columns.
#pragma once

#include <string>

#include "codegen/cuda/printers/accumulator_printer.h"
#include "codegen/cuda/printers/block_printers.h"
#include "codegen/cuda/printers/column_printer.h"

namespace smelt {

class RowPrinter {
 public:
  RowPrinter(CudaContext& context, BlockPrinters& printers);
  void print();

 private:
  void declare_threads();
  void print_row_of_team();
  void print_walk();
  void print_flat_range();
  void print_range(const std::string& begin, const std::string& end);
  void declare_share_of_walk();
  void print_blocks(const std::string& skip);

  CudaContext& c_;
  BlockPrinters& printers_;
  ColumnPrinter columns_;
  AccumulatorPrinter accumulators_;
};

}  // namespace smelt
