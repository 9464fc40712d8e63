// The feed-forward part of one block.
#include "frontend/blocks.h"

namespace smelt {

Value* feed_forward(BlockBuilder& b, int64_t block, Value* x) {
  const auto& ffn = b.spec.ffn;
  const Place place{"decoder.{}.ffn", block};
  const int64_t inner = b.spec.decoder.ffn;
  Value* up = linear(b, {"decoder.{}.ffn.up", block}, x, inner, ffn.bias);
  Value* gate = ffn.gated ? linear(b, {"decoder.{}.ffn.gate", block}, x, inner, ffn.bias) : up;
  b.at(place, "activation");
  Value* active = activate(b, gate);
  if (ffn.gated) active = b.graph.mul(active, up);
  active = dropout(b, active, b.dropout.activation);
  Value* down = linear(b, {"decoder.{}.ffn.down", block}, active, b.spec.hidden, ffn.bias, Into::residual);
  b.at(place, "dropout");
  return dropout(b, down, b.dropout.residual);
}

}  // namespace smelt
