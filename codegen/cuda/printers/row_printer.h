// The body of a kernel without reduced axes. A team of threads shares a row; where there is one column axis
// and nothing needs a row in one place, the block of threads shares a part of the flat range.
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
  void declare_share_of_walk();
  void print_blocks(const std::string& skip);

  CudaContext& c_;
  BlockPrinters& printers_;
  ColumnPrinter columns_;
  AccumulatorPrinter accumulators_;
};

}  // namespace smelt
