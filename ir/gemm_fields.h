// The fields of a kernel that multiplies and their keywords in the text form.
#pragma once

#include "ir/gemm_kernel.h"

namespace smelt {

/// visit(word, member) for each field, in the order in which they are printed.
template <typename Visit>
void visit_gemm_fields(const Visit& visit) {
  visit("a", &GemmKernel::a);
  visit("b", &GemmKernel::b);
  visit("m", &GemmKernel::m);
  visit("n", &GemmKernel::n);
  visit("k", &GemmKernel::k);
  visit("tiles", &GemmKernel::tiles);
  visit("few", &GemmKernel::few);
  visit("most_blocks", &GemmKernel::most_blocks);
  visit("shared_bytes", &GemmKernel::shared_bytes);
}

/// Tiles are a list of these numbers.
template <typename Tiles, typename Visit>
void visit_gemm_tiles(Tiles& tiles, const Visit& visit) {
  visit(tiles.row_tiles), visit(tiles.columns), visit(tiles.sharing), visit(tiles.cluster),
      visit(tiles.stages);
}

}  // namespace smelt
