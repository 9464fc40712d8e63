// The body of a kernel with reduced axes: a block of threads works on items of the range one after the other.
// An item is a tile of columns at some indices of the other axes. The lanes of a team have one vector each of
// the tile's columns; the teams share the reduced axes and exchange their sums.
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
  /// The range of an item's indices that loops iterate over: its begin and its end.
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
