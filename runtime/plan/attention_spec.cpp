#include "runtime/plan/attention_spec.h"

#include <algorithm>
#include <iterator>

namespace smelt {
namespace {

constexpr std::string_view kParts[] = {"forward", "key_gradients", "query_gradients", "element_gradient",
                                       "gradients"};
constexpr int64_t kForwardRows = 5;    // maxima and sums, old and new, and factors
constexpr int64_t kLineElements = 16;  // of a line of a processor's cache

}  // namespace

std::string_view name(AttentionPart part) { return kParts[static_cast<size_t>(part)]; }

std::optional<AttentionPart> parse_attention_part(std::string_view text) {
  const auto found = std::find(std::begin(kParts), std::end(kParts), text);
  if (found == std::end(kParts)) return std::nullopt;
  return static_cast<AttentionPart>(found - std::begin(kParts));
}

int gradients_of(const AttentionSpec& spec) {
  if (spec.part == AttentionPart::element_gradient) return 1;
  return spec.part == AttentionPart::gradients ? spec.row_gradients + spec.column_gradients : 0;
}

int tile_count(const AttentionSpec& spec) {
  if (spec.part == AttentionPart::forward) return static_cast<int>(ForwardTile::count);
  return static_cast<int>(GradientTile::of_arguments) + gradients_of(spec);
}

Dim item_count(const AttentionSpec& spec, const BlockTiles& tiles) {
  if (spec.part == AttentionPart::gradients) return spec.batch * spec.key_heads;
  const bool is_element = spec.part == AttentionPart::element_gradient;
  const Dim batch = is_element && !spec.keeps_batch ? Dim(1) : spec.batch;
  const Dim heads = is_element && !spec.keeps_heads ? Dim(1) : spec.heads;
  return batch * heads * ceil_div(spec.queries, tiles.queries);
}

LaneLayout lane_layout(const AttentionSpec& spec, const BlockTiles& tiles) {
  LaneLayout layout;
  const auto take = [&](const Dim& elements) {
    Dim first = layout.elements;
    layout.elements += round_up(elements, kLineElements);
    return first;
  };
  const bool is_forward = spec.part == AttentionPart::forward;
  const int64_t of_queries = tiles.queries * spec.width, of_keys = tiles.keys * spec.width;
  layout.tiles = take(int64_t{tiles.queries} * tiles.keys * (is_forward ? 1 : 2 + gradients_of(spec)));
  if (is_forward) layout.rows = take(kForwardRows * tiles.queries);
  layout.queries = take(of_queries), layout.keys = take(of_keys), layout.values = take(of_keys);
  if (is_forward) layout.first_sums = take(of_queries);
  if (!is_forward) layout.others = take(of_queries);
  if (spec.part != AttentionPart::gradients) return layout;
  layout.first_sums = take(of_keys), layout.second_sums = take(of_keys);
  layout.query_sums = take(spec.group() * spec.queries * spec.width);
  return layout;
}

}  // namespace smelt
