// A stack of blocks, each of two parts (three where it reads an encoder) that read a norm of the residual
// stream and add to it, or are added to it and normalised then.
#include "frontend/blocks/blocks.h"

namespace smelt {
namespace {

using Part = Value* (*)(BlockBuilder&, const Stack&, int64_t block, Value*);

struct PartRow {
  Part part;
  std::string_view role, norm;
};
constexpr PartRow kSelf = {self_attention, "attention", "norm_1"};
constexpr PartRow kCross = {cross_attention, "cross", "norm_cross"};
constexpr PartRow kFfn = {feed_forward, "ffn", "norm_2"};

Value* add_part(BlockBuilder& b, const Stack& stack, int64_t block, Value* x, const PartRow& row) {
  const bool pre = b.spec.norm.place == NormPlace::pre;
  const Place norm_place = stack.in_block(row.norm, block);
  Value* change = row.part(b, stack, block, pre ? norm(b, norm_place, x) : x);
  b.at(stack.in_block(row.role, block), "residual");
  x = b.graph.add(x, change);
  return pre ? x : norm(b, norm_place, x);
}

}  // namespace

Value* run_stack(BlockBuilder& b, const Stack& stack, Value* x, std::vector<Value*>& hidden) {
  for (int64_t block = 0; block < stack.spec.layers; ++block) {
    hidden.push_back(x);
    x = add_part(b, stack, block, x, kSelf);
    if (stack.memory) x = add_part(b, stack, block, x, kCross);
    x = add_part(b, stack, block, x, kFfn);
  }
  Value* last_block = x;
  if (b.spec.norm.final) x = norm(b, stack.part("norm"), x);
  if (b.spec.norm.final_dropout) {
    b.at(stack.part("norm"), "dropout");
    x = dropout(b, x, b.dropout.embedding);
  }
  hidden.push_back(b.spec.norm.final_is_hidden ? x : last_block);
  return x;
}

}  // namespace smelt
