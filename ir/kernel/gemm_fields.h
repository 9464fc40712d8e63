// Fields of GemmKernel, and their keywords in the text form of the Kernel IR.
#pragma once

#include "ir/kernel/gemm_kernel.h"

namespace smelt {

/// Calls visit(keyword, pointer to member) for each field, in printed order.
template <typename Visit>
void visit_gemm_fields(const Visit& visit) {
  visit("a", &GemmKernel::a);
  visit("b", &GemmKernel::b);
  visit("m", &GemmKernel::m);
  visit("n", &GemmKernel::n);
  visit("k", &GemmKernel::k);
  visit("tiles", &GemmKernel::tiles);
  visit("mma", &GemmKernel::mma);
  visit("batch", &GemmKernel::batch);
  visit("alpha", &GemmKernel::alpha);
  visit("rounded", &GemmKernel::rounded);
  visit("packed", &GemmKernel::packed);
  visit("few", &GemmKernel::few);
  visit("most_blocks", &GemmKernel::most_blocks);
  visit("shared_bytes", &GemmKernel::shared_bytes);
}

/// Call visit(number) for each number of the tiles, in the order in which they are printed as a list.
template <typename Tiles, typename Visit>
void visit_mma_tiles(Tiles& tiles, const Visit& visit) {
  visit(tiles.rows), visit(tiles.columns), visit(tiles.depth), visit(tiles.stages), visit(tiles.warp_rows),
      visit(tiles.warp_columns), visit(tiles.blocks);
}
template <typename Tiles, typename Visit>
void visit_gemm_tiles(Tiles& tiles, const Visit& visit) {
  visit(tiles.columns), visit(tiles.cluster), visit(tiles.stages);
}

}  // namespace smelt
