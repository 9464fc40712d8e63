// Codes of 8 bits for cached keys and values, with one scale for each token and head.
#include "frontend/blocks/blocks.h"

namespace smelt {
namespace {

/// Least magnitude that a scale is computed from: neither the scale nor its inverse is 0 or subnormal.
constexpr double kLeast = 1e-30;

double largest_code(CacheCodes codes) { return codes == CacheCodes::int8 ? 127 : 448; }

/// Returns the nearest whole numbers. Nothing between the product that made x and this sum lets a compiler
/// join the two, so all machines round alike.
Value* whole(GraphBuilder& g, Value* x) { return g.floor(g.add(x, g.like(x, 0.5))); }

Value* over_width(GraphBuilder& g, Value* row, const Shape& shape) {
  return g.broadcast(row, {0, 1, 2}, shape);
}

}  // namespace

Cached coded(GraphBuilder& g, Value* x, CacheCodes codes) {
  x = g.convert(x, DType::f32);
  const double most = largest_code(codes);
  Value* largest = g.reduce(ReduceOp::max, g.abs(x), {3});
  Value* exact = g.mul(g.max(largest, g.like(largest, kLeast)), g.like(largest, 1 / most));
  Value* scales = g.convert(exact, DType::bf16);
  Value* inverse = g.div(g.like(exact, 1), g.convert(scales, DType::f32));
  Value* y = g.mul(x, over_width(g, inverse, x->shape()));
  y = g.min(g.max(y, g.like(y, -most)), g.like(y, most));
  y = g.select(g.eq(y, y), y, g.like(y, 0));  // the scale says where a number is not finite
  if (codes == CacheCodes::int8) return {g.convert(whole(g, y), DType::i8), scales};
  return {g.convert(y, DType::f8e4m3), scales};
}

Value* numbers_of(GraphBuilder& g, const Cached& cached, DType dtype) {
  if (!cached.scales) return cached.numbers;
  Value* scales = over_width(g, g.convert(cached.scales, DType::f32), cached.numbers->shape());
  return g.convert(g.mul(g.convert(cached.numbers, DType::f32), scales), dtype);
}

}  // namespace smelt
