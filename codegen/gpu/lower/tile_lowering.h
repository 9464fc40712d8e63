// The body of a kernel with reduced axes. The kernel's range is divided into items, which a thread block
// processes one after the other. An item is a tile of columns at one index along each parallel axis. Each
// thread of a thread group ("team") has one vector of the tile's columns. The indices along the reduced axes
// are divided among the teams, which then exchange their sums.
#pragma once

#include <functional>

#include "codegen/gpu/lower/block_lowerings.h"
#include "codegen/gpu/lower/team_exchange.h"

namespace smelt::gpu {

class TileLowering {
 public:
  TileLowering(LoweringContext& context, BlockLowerings& lowerings)
      : c_(context), lowerings_(lowerings), exchange_(context, lowerings.reductions) {}
  void lower();

 private:
  /// The range of reduced indices that the teams divide among themselves.
  struct Range {
    Expr begin = 0, end;
  };
  void open_items();
  void declare_item();
  void declare_tile(const std::vector<int>& others);
  void set_row_guard();
  void lower_block(const KernelBlock& block);
  void lower_reduced_block(const KernelBlock& block);
  void lower_reduced_loops(const BlockNest& nest);
  void lower_short_sums(const BlockNest& nest, const Expr& end);
  void lower_share(const BlockNest& nest, const Expr& end);
  Range reduced_range() const;
  void lower_rounds(const BlockNest& nest, int count, const Expr& end);
  void lower_each(const BlockNest& nest, int count, const std::function<void(const Expr&)>& work);
  void open_indices(const Expr& end, int64_t step, int64_t unroll);
  void lower_reduced_index(const BlockNest& nest, const Expr& i, const std::function<void()>& work);
  void lower_whole_vector(const BlockNest& nest);
  bool is_last_reduced(const KernelBlock& block) const;
  void lower_column_block(const KernelBlock& block);

  LoweringContext& c_;
  BlockLowerings& lowerings_;
  TeamExchange exchange_;
};

}  // namespace smelt::gpu
