// The stack of decoder blocks, each two parts that read a norm of the residual stream and add to it.
#include "frontend/blocks.h"

namespace smelt {
namespace {

using Part = Value* (*)(BlockBuilder&, int64_t block, Value*);

Value* add_part(BlockBuilder& b, int64_t block, Value* x, Part part, std::string_view role,
                std::string_view norm_role) {
  const bool pre = b.spec.norm.place == NormPlace::pre;
  const Place norm_place{norm_role, block};
  Value* change = part(b, block, pre ? norm(b, norm_place, x) : x);
  b.at({role, block}, "residual");
  x = b.graph.add(x, change);
  return pre ? x : norm(b, norm_place, x);
}

}  // namespace

Value* decode(BlockBuilder& b, Value* x, std::vector<Value*>& hidden) {
  for (int64_t block = 0; block < b.spec.decoder.layers; ++block) {
    hidden.push_back(x);
    x = add_part(b, block, x, self_attention, "decoder.{}.attention", "decoder.{}.norm_1");
    x = add_part(b, block, x, feed_forward, "decoder.{}.ffn", "decoder.{}.norm_2");
  }
  if (b.spec.norm.final) x = norm(b, {"decoder.norm"}, x);
  hidden.push_back(x);
  return x;
}

}  // namespace smelt
