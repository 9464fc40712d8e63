// A stack of blocks, each of two parts (three where it reads an encoder) that read a norm of the residual
// stream and add to it, one after the other or all at once, or are added to it and normalised then.
#include <cmath>

#include "frontend/blocks/blocks.h"

namespace smelt {
namespace {

using Part = Value* (*)(BlockBuilder&, const Stack&, int64_t block, Value*);

struct PartRow {
  Part part;
  std::string_view role, norm, post_norm;
};
constexpr PartRow kSelf = {self_attention, "attention", "norm_1", "post_norm_1"};
constexpr PartRow kCross = {cross_attention, "cross", "norm_cross", "post_norm_cross"};
constexpr PartRow kFfn = {feed_forward, "ffn", "norm_2", "post_norm_2"};

bool normalises_inputs(NormPlace place) { return place == NormPlace::pre || place == NormPlace::sandwich; }
bool normalises_outputs(NormPlace place) {
  return place == NormPlace::output || place == NormPlace::sandwich;
}

/// x plus what the part makes of `read`, usually x too.
Value* add_part(BlockBuilder& b, const Stack& stack, int64_t block, Value* x, Value* read,
                const PartRow& row) {
  const NormPlace place = b.spec.norm.place;
  const Place norm_place = stack.in_block(row.norm, block);
  Value* change = row.part(b, stack, block, normalises_inputs(place) ? norm(b, norm_place, read) : read);
  if (normalises_outputs(place)) change = norm(b, stack.in_block(row.post_norm, block), change);
  b.at(stack.in_block(row.role, block), "residual");
  x = b.graph.add(x, times(b, change, b.spec.residual_factor));
  return place == NormPlace::post ? norm(b, norm_place, x) : x;
}

Value* run_block(BlockBuilder& b, const Stack& stack, int64_t block, Value* x) {
  Value* input = x;
  x = add_part(b, stack, block, x, x, kSelf);
  if (stack.memory || stack.memory_cache) x = add_part(b, stack, block, x, x, kCross);
  return add_part(b, stack, block, x, b.spec.parallel_residual ? input : x, kFfn);
}

/// Returns `after` or, with the probability p, `before`: then this step leaves the block out.
Value* maybe_left_out(BlockBuilder& b, double p, Value* before, Value* after) {
  const double threshold = std::round(p * 65536);
  if (threshold == 0) return after;
  GraphBuilder& g = b.graph;
  Value* draw = g.random({}, g.module().next_random_id());
  Value* kept = g.ge(draw, g.like(draw, threshold));
  return g.select(g.broadcast(kept, {}, after->shape()), after, before);
}

}  // namespace

Value* run_stack(BlockBuilder& b, const Stack& stack, Value* x, std::vector<Value*>& hidden) {
  for (int64_t block = 0; block < stack.spec.layers; ++block) {
    hidden.push_back(x);
    Value* const after = run_block(b, stack, block, x);
    b.at(stack.in_block("norm_1", block), "kept");
    x = maybe_left_out(b, b.dropout.block, x, after);
  }
  Value* last_block = x;
  if (b.spec.norm.final) x = norm(b, stack.part("norm"), x);
  if (b.spec.norm.final_dropout) {
    b.at(stack.part("norm"), "dropout");
    x = dropout(b, x, b.dropout.embedding);
  }
  if (const int64_t width = b.spec.embedding.width; width && !b.spec.embedding.projected_last)
    x = linear(b, stack.part("project_out"), x, width, false);
  hidden.push_back(b.spec.norm.final_is_hidden ? x : last_block);
  return x;
}

}  // namespace smelt
