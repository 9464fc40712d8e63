// Printing of the body of a kernel with reduced axes. The kernel's range is divided into items, which a
// thread block processes one after the other. An item is a tile of columns at one index along each parallel
// axis. Each thread of a thread group ("team") has one vector of the tile's columns. The indices along the
// reduced axes are divided among the teams, which then exchange their sums.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/cuda/printers/block_printers.h"
#include "codegen/cuda/printers/team_exchange.h"

namespace smelt {

class TilePrinter {
 public:
  TilePrinter(CudaContext& context, BlockPrinters& printers)
      : c_(context), printers_(printers), exchange_(context, printers.reductions) {}
  void print();

 private:
  /// Expressions for the range of reduced indices that the teams divide among themselves.
  struct Range {
    std::string begin = "0", end;
  };
  void declare_item();
  void set_row_guard();
  void print_block(const KernelBlock& block);
  void print_reduced_block(const KernelBlock& block);
  void print_reduced_loops(const BlockNest& nest);
  void print_short_sums(const BlockNest& nest, const std::string& end);
  void print_share(const BlockNest& nest, const std::string& end);
  Range reduced_range() const;
  void print_rounds(const BlockNest& nest, int count, const std::string& end);
  void print_reduced_index(const BlockNest& nest, const std::function<void()>& print_work);
  bool is_last_reduced(const KernelBlock& block) const;
  void print_column_block(const KernelBlock& block);

  CudaContext& c_;
  BlockPrinters& printers_;
  TeamExchange exchange_;
};

}  // namespace smelt
