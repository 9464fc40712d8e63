// The feed-forward part of one block.
#include "frontend/blocks/blocks.h"

namespace smelt {

namespace {

/// The argument of the activation, and its factor; without gates both are one.
struct Inner {
  Value *gate, *up;
};

/// One weight of gate and up.
Inner fused_inner(BlockBuilder& b, const Stack& stack, int64_t block, Value* x) {
  const int64_t inner = stack.spec.ffn;
  Value* both = stacked_linear(b, stack.in_block("ffn.gate_up", block), x, 2, inner, b.spec.ffn.bias);
  const Shape one = {x->shape()[0], x->shape()[1], inner};
  const auto part = [&](int64_t i) { return b.graph.reshape(b.graph.slice(both, 2, i, 1), one); };
  Value* gate = part(0);
  return {gate, part(1)};
}

Inner inner_of(BlockBuilder& b, const Stack& stack, int64_t block, Value* x) {
  const auto& ffn = b.spec.ffn;
  if (ffn.gated && ffn.fused_gate) return fused_inner(b, stack, block, x);
  const int64_t inner = stack.spec.ffn;
  Value* up = linear(b, stack.in_block(ffn.gated ? "ffn.gated" : "ffn.up", block), x, inner, ffn.bias);
  return {ffn.gated ? linear(b, stack.in_block("ffn.gate", block), x, inner, ffn.bias) : up, up};
}

}  // namespace

Value* feed_forward(BlockBuilder& b, const Stack& stack, int64_t block, Value* x) {
  const auto& ffn = b.spec.ffn;
  const Place place = stack.in_block("ffn", block);
  const auto [gate, up] = inner_of(b, stack, block, x);
  b.at(place, "activation");
  Value* active = activate(b, gate, ffn.activation);
  if (ffn.gated) active = b.graph.mul(active, up);
  active = dropout(b, active, b.dropout.activation);
  Value* down = linear(b, stack.in_block("ffn.down", block), active, b.spec.hidden, ffn.bias, Into::residual);
  b.at(place, "dropout");
  return dropout(b, down, b.dropout.residual);
}

}  // namespace smelt
