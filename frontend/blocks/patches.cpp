// Images to the first hidden state: a convolution whose stride is its width is a matmul over patches.
#include "frontend/blocks/blocks.h"

namespace smelt {
namespace {

/// [B,C,H,W] times [hidden,C,p,p], patch by patch: [B,H/p,W/p,hidden].
Value* patch_projection(BlockBuilder& b, Value* pixels, Value* filter) {
  const auto& e = b.spec.embedding;
  const int64_t side = e.image_size / e.patch_size;
  Value* patches =
      b.graph.reshape(pixels, {pixels->shape()[0], e.channels, side, e.patch_size, side, e.patch_size});
  patches = b.graph.transpose(patches, {0, 2, 4, 1, 3, 5});
  const int64_t inside = e.channels * e.patch_size * e.patch_size;
  patches = b.graph.reshape(patches, {pixels->shape()[0], side * side, inside});
  filter = b.graph.reshape(filter, {b.spec.hidden, inside});
  return b.graph.create(Op::linear, {patches, filter})->result();
}

/// Adds one learned token before the patches.
Value* add_token(BlockBuilder& b, const Place& place, Value* x) {
  const Shape& shape = x->shape();
  Value* token = weight(b, place, {1, 1, b.spec.hidden}, b.spec.init.deviation);
  token = b.graph.reshape(token, {1, b.spec.hidden});
  return b.graph.concat({b.graph.broadcast_leading(token, {shape[0], 1, shape[2]}), x}, 1);
}

Value* add_tokens(BlockBuilder& b, const Stack& stack, Value* x) {
  if (b.spec.embedding.second_token) x = add_token(b, stack.part("second_token"), x);
  return b.spec.embedding.class_token ? add_token(b, stack.part("class_token"), x) : x;
}

}  // namespace

Value* embed_patches(BlockBuilder& b, const Stack& stack, Value* pixels) {
  const auto& e = b.spec.embedding;
  const Place place = stack.part("patches");
  Value* filter =
      weight(b, place, {b.spec.hidden, e.channels, e.patch_size, e.patch_size}, b.spec.init.deviation);
  Value* x = add_bias(b, place, patch_projection(b, pixels, filter));
  x = add_positions(b, stack, add_tokens(b, stack, x), nullptr);
  b.at({"embedding.dropout"});
  return dropout(b, x, b.dropout.embedding);
}

}  // namespace smelt
