// From the last hidden state to logits, and from logits to the loss.
#include <cmath>

#include "frontend/blocks.h"

namespace smelt {
namespace {

/// The target of position t is label t + 1; the last position has none.
Value* shifted(BlockBuilder& b, Value* labels) {
  const auto ignored = static_cast<double>(b.spec.criterion.ignore_index);
  Value* end = b.graph.constant(ignored, {DType::i32, {b.batch, 1}});
  return b.graph.slice(b.graph.concat({labels, end}, 1), 1, 1, b.length);
}

/// cross_entropy spreads alpha over all V classes. alpha over the V - 1 others is the same with alpha V / (V
/// - 1).
double smoothing_of(const TransformerSpec& spec) {
  const auto classes = static_cast<double>(spec.vocab_size);
  const double alpha = spec.criterion.label_smoothing;
  return spec.criterion.smoothing == Smoothing::all || classes < 2 ? alpha : alpha * classes / (classes - 1);
}

}  // namespace

Value* logits(BlockBuilder& b, Value* x) {
  const Place head{"head"};
  b.at(head);
  if (b.spec.head.scaled)
    x = b.graph.mul(x, b.graph.like(x, 1 / std::sqrt(static_cast<double>(b.spec.hidden))));
  if (!b.spec.head.tied) return linear(b, head, x, b.spec.vocab_size, b.spec.head.bias);
  Value* table = b.graph.parameter(b.names.parameter({"embedding.tokens"}, "weight").name);
  return b.graph.create(Op::linear, {x, table})->result();
}

LossOutputs next_token_loss(BlockBuilder& b, Value* logits, Value* labels) {
  b.graph.set_source("labels");
  Value* targets = shifted(b, labels);
  b.graph.set_source("loss");
  const Attributes attributes = {{"label_smoothing", smoothing_of(b.spec)},
                                 {"ignore_index", b.spec.criterion.ignore_index}};
  Value* losses = b.graph.create(Op::cross_entropy, {logits, targets}, attributes)->result();
  Value* loss_sum = b.graph.sum(losses, {0, 1});
  b.graph.set_source("token_count");
  const auto ignored = static_cast<double>(b.spec.criterion.ignore_index);
  Value* counted = b.graph.convert(b.graph.ne(targets, b.graph.like(targets, ignored)), DType::f32);
  return {loss_sum, b.graph.sum(counted, {0, 1})};
}

}  // namespace smelt
