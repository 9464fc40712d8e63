// LAMB: Adam's direction, scaled in every layer to the length of its weights (You et al., 2019, "Large Batch
// Optimization for Deep Learning", arXiv:1904.00962).
//
//   u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay p
//   p = p - lr |p| / |u| u         norms of one segment; the ratio is 1 where a norm is 0
//
// A layer is a segment of the flat state. The direction is computed twice, once by chunks for the norms and
// once in the update, from the same memory: storing it would move as many bytes and take a buffer. Where
// ranks have parts of the flat states, the norms are of sums over tiles
// (passes/graph/training/segment_sums.h).
#include "passes/graph/training/segment_sums.h"
#include "passes/graph/training/sums_over_ranks.h"
#include "passes/graph/training/update_context.h"

namespace smelt {
namespace {

struct Direction {
  AdamMoments moments;
  Value* u;
};

Direction direction(const UpdateContext& c, Value* p, Value* g, Value* m, Value* v, Value* place) {
  GraphBuilder& b = c.b;
  const AdamMoments next = next_moments(c, m, v, g);
  Value* correction = b.reciprocal(bias_correction(c, *c.options.beta1));
  Value* u = b.mul(adam_direction(c, next), c.spread(correction, p));
  if (c.options.weight_decay != 0)
    u = c.where_decayed(b.add(u, b.mul(p, c.weight_decays(p, place))), u, place);
  return {next, u};
}

/// |p| / |u| by segment.
Value* trust_ratio(GraphBuilder& b, Value* p_squares, Value* u_squares) {
  Value *zero = b.like(p_squares, 0), *one = b.like(p_squares, 1);
  Value* known = b.logical_and(b.gt(p_squares, zero), b.gt(u_squares, zero));
  return b.select(known, b.sqrt(b.div(p_squares, b.select(known, u_squares, one))), one);
}

/// |p|^2 and |u|^2 by segment.
struct Squares {
  Value *p = nullptr, *u = nullptr;
};

Squares squares_by_chunks(const UpdateContext& c, const SegmentSums& segments, Value* m, Value* v) {
  GraphBuilder& b = c.b;
  Value* p = widened(b, segments.rows(b.state("parameters")));
  Value* u = direction(c, p, c.gradient(segments.rows(c.gradients)), segments.rows(m), segments.rows(v),
                       segments.places())
                 .u;
  const auto sums = [&](Value* x) { return segment_sums_over_ranks(b, c.flat, segments.sums(b.mul(x, x))); };
  return {sums(p), sums(u)};
}

Squares squares_by_tiles(const UpdateContext& c, const SegmentSums& segments, Value* u) {
  const auto sums = [&](Value* x) {
    return segment_sums_over_ranks(c.b, c.flat, segments.sums(segments.rows(segments.tiles(c.b.mul(x, x)))));
  };
  return {sums(c.parameters), sums(u)};
}

}  // namespace

void lamb(const UpdateContext& c) {
  GraphBuilder& b = c.b;
  Value *m = c.moment("lamb.m"), *v = c.moment("lamb.v");
  const SegmentSums segments(b, c.flat);
  const bool has_buckets = c.flat.shape.size() > 1;
  Squares squares;
  if (!has_buckets) squares = squares_by_chunks(c, segments, m, v);
  const Direction all = direction(c, c.parameters, c.gradient(), m, v, nullptr);
  if (has_buckets) squares = squares_by_tiles(c, segments, all.u);
  Value* ratio = trust_ratio(b, squares.p, squares.u);
  c.write("lamb.m", all.moments.m, m);
  c.write("lamb.v", all.moments.v, v);
  Value* rate = b.mul(c.rates(c.learning_rate), segments.spread(ratio));
  c.write_parameters(b.sub(c.parameters, b.mul(rate, all.u)));
}

}  // namespace smelt
