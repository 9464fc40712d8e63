// The fields of a kernel of attention and their keywords in the text form: one list, which the printer, the
// parser and its messages read.
#pragma once

#include "ir/attention_kernel.h"

namespace smelt {

inline constexpr const char* kAttentionParts[] = {"forward", "key_gradients", "query_gradients",
                                                  "element_gradient"};

/// visit(word, member) for each field, in the order in which they are printed.
template <typename Visit>
void visit_attention_fields(const Visit& visit) {
  visit("part", &AttentionKernel::part);
  visit("scale", &AttentionKernel::scale);
  visit("width", &AttentionKernel::width);
  visit("batch", &AttentionKernel::batch);
  visit("heads", &AttentionKernel::heads);
  visit("key_heads", &AttentionKernel::key_heads);
  visit("queries", &AttentionKernel::queries);
  visit("keys", &AttentionKernel::keys);
  visit("matrices", &AttentionKernel::matrices);
  visit("rows", &AttentionKernel::rows);
  visit("sums", &AttentionKernel::sums);
  visit("keeps_batch", &AttentionKernel::keeps_batch);
  visit("keeps_heads", &AttentionKernel::keeps_heads);
  visit("axes", &AttentionKernel::axes);
  visit("returned", &AttentionKernel::returned);
  visit("row_gradients", &AttentionKernel::row_gradients);
  visit("column_gradients", &AttentionKernel::column_gradients);
  visit("element_gradients", &AttentionKernel::element_gradients);
  visit("element", &AttentionKernel::element);
  visit("tiles", &AttentionKernel::tiles);
  visit("lighter", &AttentionKernel::lighter);
  visit("vector", &AttentionKernel::vector);
  visit("shared_bytes", &AttentionKernel::shared_bytes);
}

/// The same of tiles, which are written as a list of these numbers.
template <typename Visit>
void visit_tile_numbers(const Visit& visit) {
  for (int AttentionTiles::* member :
       {&AttentionTiles::warps, &AttentionTiles::row_tiles, &AttentionTiles::columns, &AttentionTiles::chunk,
        &AttentionTiles::blocks, &AttentionTiles::parts})
    visit(member);
}

}  // namespace smelt
