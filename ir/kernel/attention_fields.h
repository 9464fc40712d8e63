// Fields of AttentionKernel (attention_kernel.h), and their keywords in the text form of the Kernel IR. The
// printer and the parser share this list.
#pragma once

#include <concepts>
#include <type_traits>

#include "ir/kernel/attention_kernel.h"

namespace smelt {

/// Calls visit(keyword, pointer to member) for each field, in the order of the text form.
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
  visit("scales", &AttentionKernel::scales);
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
  visit("has_wgmma", &AttentionKernel::has_wgmma);
  visit("least_rows", &AttentionKernel::least_rows);
  visit("most_rows", &AttentionKernel::most_rows);
  visit("query_sums", &AttentionKernel::query_sums);
  visit("counters", &AttentionKernel::counters);
  visit("places", &AttentionKernel::places);
  visit("places_batch_stride", &AttentionKernel::places_batch_stride);
  visit("places_stride", &AttentionKernel::places_stride);
  visit("table_rows", &AttentionKernel::table_rows);
  visit("tile_params", &AttentionKernel::tile_params);
  visit("workspace", &AttentionKernel::workspace);
  visit("part_keys", &AttentionKernel::part_keys);
  visit("tiles", &AttentionKernel::tiles);
  visit("lighter", &AttentionKernel::lighter);
  visit("multiprocessors", &AttentionKernel::multiprocessors);
  visit("most_blocks", &AttentionKernel::most_blocks);
  visit("vector", &AttentionKernel::vector);
  visit("shared_bytes", &AttentionKernel::shared_bytes);
}

/// Returns the name of the template that has tiles of this type. The text form of tiles is this name,
/// followed by the numbers that visit_tile_numbers visits.
inline constexpr const char* template_name(const AttentionTiles&) { return "mma"; }
inline constexpr const char* template_name(const WgmmaTiles&) { return "wgmma"; }
inline constexpr const char* template_name(const BlockTiles&) { return "blocks"; }
inline constexpr const char* template_name(const FewTiles&) { return "few"; }

// Each function calls visit(number) for every number of the tiles, in the order of the text form.

template <typename Tiles, typename Visit>
  requires std::same_as<std::remove_const_t<Tiles>, AttentionTiles>
void visit_tile_numbers(Tiles& tiles, const Visit& visit) {
  visit(tiles.warps), visit(tiles.row_tiles), visit(tiles.columns), visit(tiles.chunk), visit(tiles.blocks);
  visit(tiles.parts);
}

template <typename Tiles, typename Visit>
  requires std::same_as<std::remove_const_t<Tiles>, WgmmaTiles>
void visit_tile_numbers(Tiles& tiles, const Visit& visit) {
  visit(tiles.queries), visit(tiles.keys), visit(tiles.stages), visit(tiles.consumers);
  visit(tiles.query_stages), visit(tiles.takes_turns), visit(tiles.early_products);
}

template <typename Tiles, typename Visit>
  requires std::same_as<std::remove_const_t<Tiles>, BlockTiles>
void visit_tile_numbers(Tiles& tiles, const Visit& visit) {
  visit(tiles.queries), visit(tiles.keys), visit(tiles.lanes);
}

template <typename Tiles, typename Visit>
  requires std::same_as<std::remove_const_t<Tiles>, FewTiles>
void visit_tile_numbers(Tiles& tiles, const Visit& visit) {
  visit(tiles.rows), visit(tiles.loads), visit(tiles.unit), visit(tiles.parts);
  visit(tiles.cluster), visit(tiles.tickets), visit(tiles.blocks), visit(tiles.tensor_cores);
}

}  // namespace smelt
