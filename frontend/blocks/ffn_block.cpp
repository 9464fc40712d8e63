// The feed-forward part of one block.
#include "frontend/blocks/blocks.h"

namespace smelt {

Value* feed_forward(BlockBuilder& b, const Stack& stack, int64_t block, Value* x) {
  const auto& ffn = b.spec.ffn;
  const Place place = stack.in_block("ffn", block);
  const int64_t inner = stack.spec.ffn;
  Value* up = linear(b, stack.in_block(ffn.gated ? "ffn.gated" : "ffn.up", block), x, inner, ffn.bias);
  Value* gate = ffn.gated ? linear(b, stack.in_block("ffn.gate", block), x, inner, ffn.bias) : up;
  b.at(place, "activation");
  Value* active = activate(b, gate, ffn.activation);
  if (ffn.gated) active = b.graph.mul(active, up);
  active = dropout(b, active, b.dropout.activation);
  Value* down = linear(b, stack.in_block("ffn.down", block), active, b.spec.hidden, ffn.bias, Into::residual);
  b.at(place, "dropout");
  return dropout(b, down, b.dropout.residual);
}

}  // namespace smelt
