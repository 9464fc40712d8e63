// The parts that build_transformer puts together; each file of the same name family holds one.
#pragma once

#include "frontend/build_transformer.h"
#include "frontend/parameter_names.h"
#include "ir/builder.h"

namespace smelt {

/// What every part needs: where to build, what to build, what to call it.
struct BlockBuilder {
  GraphBuilder graph;
  const TransformerSpec& spec;
  const ParameterNames names;
  TransformerSpec::Dropout dropout;  // the probabilities of this graph
  Dim batch, length;                 // of the tokens in sight

  Shape hidden_shape() const { return {batch, length, spec.hidden}; }
  /// Nodes that follow are said to come from `place`, and from a part of it.
  void at(Place place, std::string_view part = "");
};

// ---- layers.cpp
/// What a weight is multiplied into decides its first values.
enum class Into : uint8_t { inner, residual };
Value* weight(BlockBuilder& b, Place place, Shape shape, double deviation);
Value* norm(BlockBuilder& b, Place place, Value* x);
Value* linear(BlockBuilder& b, Place place, Value* x, int64_t out, bool bias, Into into = Into::inner);
/// x itself where p is 0.
Value* dropout(BlockBuilder& b, Value* x, double p);
Value* activate(BlockBuilder& b, Value* x);

// ---- embedding.cpp, attention_block.cpp, ffn_block.cpp, decoder.cpp, head.cpp
Value* embed_tokens(BlockBuilder& b, Value* ids);
Value* self_attention(BlockBuilder& b, int64_t block, Value* x);
Value* feed_forward(BlockBuilder& b, int64_t block, Value* x);
/// All blocks and the final norm; the hidden states on the way are appended to `hidden`.
Value* decode(BlockBuilder& b, Value* x, std::vector<Value*>& hidden);
Value* logits(BlockBuilder& b, Value* x);

struct LossOutputs {
  Value* loss_sum;
  Value* token_count;
};
LossOutputs next_token_loss(BlockBuilder& b, Value* logits, Value* labels);

}  // namespace smelt
