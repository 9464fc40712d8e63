// From the last hidden state to logits, and from logits to the loss.
#include <cmath>

#include "frontend/blocks/blocks.h"
#include "frontend/model_checks.h"

namespace smelt {
namespace {

/// cross_entropy spreads its label_smoothing over all V classes; alpha over the V - 1 others is the same as
/// alpha V / (V - 1) over all of them.
double smoothing_of(const TransformerSpec& spec, const Dim& count) {
  const double alpha = spec.criterion.label_smoothing;
  if (alpha == 0) return 0;
  const auto classes = static_cast<double>(*count.constant());
  return spec.criterion.smoothing == Smoothing::all || classes < 2 ? alpha : alpha * classes / (classes - 1);
}

/// Every token's logits over the vocabulary.
Value* vocabulary_logits(BlockBuilder& b, Value* x) {
  const bool masked = fills_masks(b.spec);
  const Place head{!masked ? "head" : b.spec.head.tied ? "mlm" : "mlm.decoder"};
  b.at(head);
  if (b.spec.head.scaled) x = times(b, x, 1 / std::sqrt(static_cast<double>(b.spec.hidden)));
  if (b.spec.head.tied) {
    Value* table = b.graph.parameter(b.names.parameter({"embedding.tokens"}, "weight").name);
    x = b.graph.create(Op::linear, {x, table})->result();
    if (b.spec.head.bias) x = add_bias(b, head, x);
  } else {
    x = linear(b, head, x, b.spec.vocab_size, b.spec.head.bias);
  }
  if (b.spec.head.offset) x = add_offset(b, {"head.offset"}, x);
  x = times(b, x, b.spec.head.factor / b.spec.head.divisor);
  return soft_capped(b, x, b.spec.head.soft_cap);
}

/// A dense layer, the activation and a norm before the vocabulary (BERT's masked language model).
Value* transformed(BlockBuilder& b, Value* x) {
  const auto& e = b.spec.embedding;
  x = linear(b, {"mlm.transform"}, x, e.width ? e.width : b.spec.hidden, true);
  b.at({"mlm.transform"}, "activation");
  return norm(b, {"mlm.norm"}, activate(b, x, b.spec.ffn.activation));
}

Value* first_token(BlockBuilder& b, Value* x) {
  const Shape& shape = x->shape();
  return b.graph.reshape(b.graph.slice(x, 1, 0, 1), {shape[0], shape[2]});
}

/// The hidden state of the first token, after the pooler and the dense layer of the head if there are any.
Value* sequence_state(BlockBuilder& b, Value* x) {
  Value* pool = pooled(b, x);
  x = pool ? pool : first_token(b, x);
  if (!b.spec.head.dense) return x;
  const Place dense{"classifier.dense"};
  b.at(dense, "dropout");
  if (b.spec.head.dense_dropout) x = dropout(b, x, b.dropout.classifier);
  b.at(dense);
  x = linear(b, dense, x, b.spec.hidden, true);
  b.at(dense, "activation");
  return activate(b, x, b.spec.head.dense_activation);
}

/// A linear map of x after dropout.
Value* classified(BlockBuilder& b, const Place& place, Value* x, int64_t classes) {
  b.at(place, "dropout");
  return linear(b, place, dropout(b, x, b.dropout.classifier), classes, true);
}

/// Logits of the first and of the last token of an answer, [B,T] each.
std::vector<Value*> span_logits(BlockBuilder& b, Value* x) {
  const Place place{"spans"};
  Value* both = classified(b, place, x, 2);
  const auto part = [&](int64_t i) {
    return b.graph.reshape(b.graph.slice(both, 2, i, 1), {x->shape()[0], x->shape()[1]});
  };
  Value* starts = part(0);
  return {starts, part(1)};
}

/// Logits of every token, and of whether the second text follows the first.
std::vector<Value*> pretraining_logits(BlockBuilder& b, Value* x) {
  Value* tokens = vocabulary_logits(b, transformed(b, x));
  return {tokens, linear(b, {"next_sentence"}, pooled(b, x), 2, true)};
}

}  // namespace

Value* pooled(BlockBuilder& b, Value* x) {
  if (!b.spec.head.pooler) return nullptr;
  b.at({"pooler"});
  Value* pool = linear(b, {"pooler"}, first_token(b, x), b.spec.hidden, true);
  return b.graph.tanh(pool);
}

std::vector<Value*> logits(BlockBuilder& b, Value* x) {
  const int64_t classes = b.spec.head.classes;
  switch (b.spec.head.kind) {
    case HeadKind::lm:
      return {vocabulary_logits(b, x)};
    case HeadKind::mlm:
      return {vocabulary_logits(b, transformed(b, x))};
    case HeadKind::sequence_classes:
    case HeadKind::image_classes:
      return {classified(b, {"classifier"}, sequence_state(b, x), classes)};
    case HeadKind::token_classes:
      return {classified(b, {"token_classifier"}, x, classes)};
    case HeadKind::spans:
      return span_logits(b, x);
    case HeadKind::choices:
      return {classified(b, {"choices"}, sequence_state(b, x), 1)};
    case HeadKind::pretraining:
      return pretraining_logits(b, x);
    case HeadKind::none:
      break;
  }
  return {};
}

std::vector<LogitsPort> logits_ports(const TransformerSpec& spec) {
  if (spec.head.kind == HeadKind::spans)
    return {{"start_logits", "start_positions"}, {"end_logits", "end_positions"}};
  if (spec.head.kind == HeadKind::pretraining)
    return {{"prediction_logits", "labels"}, {"seq_relationship_logits", "next_sentence_label"}};
  return {{"logits", "labels"}};
}

Value* span_targets(BlockBuilder& b, Value* positions, const Dim& length) {
  GraphBuilder& g = b.graph;
  Value* end = g.broadcast(g.extent(length, DType::i32), {}, positions->shape());
  Value* inside = g.max(positions, g.like(positions, 0));
  const auto ignored = static_cast<double>(b.spec.criterion.ignore_index);
  return g.select(g.lt(inside, end), inside, g.like(inside, ignored));
}

Value* next_tokens(BlockBuilder& b, Value* labels, Value* segments) {
  b.graph.set_source("labels");
  const auto ignored = static_cast<double>(b.spec.criterion.ignore_index);
  const auto next = [&](Value* x) {
    Value* end = b.graph.constant(ignored, {DType::i32, {x->shape()[0], 1}});
    return b.graph.slice(b.graph.concat({x, end}, 1), 1, 1, x->shape()[1]);
  };
  Value* targets = next(labels);
  if (!segments) return targets;
  Value* goes_on = b.graph.eq(segments, next(segments));
  return b.graph.select(goes_on, targets, b.graph.like(targets, ignored));
}

namespace {

/// i32[B,1]: the last of the tokens i32[B,T] of each row that is not padding; 0 where there is none.
Value* last_tokens(BlockBuilder& b, Value* tokens) {
  GraphBuilder& g = b.graph;
  Value* padding = g.like(tokens, static_cast<double>(b.spec.tokens.pad));
  Value* places = g.iota(tokens->type, 1);
  places = g.select(g.eq(tokens, padding), g.like(tokens, -1), places);
  Value* last = g.broadcast(g.reduce(ReduceOp::max, places, {1}), {0}, tokens->shape());
  Value* at_end = g.logical_and(g.eq(places, last), g.ne(tokens, padding));
  Value* token = g.sum(g.select(at_end, tokens, g.like(tokens, 0)), {1});
  return g.reshape(token, {tokens->shape()[0], 1});
}

}  // namespace

Value* teacher_forced(BlockBuilder& b, Value* labels) {
  b.graph.set_source("labels");
  const Shape& shape = labels->shape();
  const auto ignored = static_cast<double>(b.spec.criterion.ignore_index);
  Value* known = b.graph.select(b.graph.eq(labels, b.graph.like(labels, ignored)),
                                b.graph.like(labels, static_cast<double>(b.spec.tokens.pad)), labels);
  Value* start =
      b.spec.tokens.last_starts
          ? last_tokens(b, known)
          : b.graph.constant(static_cast<double>(b.spec.tokens.decoder_start), {DType::i32, {shape[0], 1}});
  return b.graph.slice(b.graph.concat({start, known}, 1), 1, 0, shape[1]);
}

namespace {

std::vector<int64_t> all_axes(const Value* x) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < x->rank(); ++axis) axes.push_back(axis);
  return axes;
}

LossOutputs summed(BlockBuilder& b, Value* losses) {
  Value* loss_sum = b.graph.sum(losses, all_axes(losses));
  b.graph.set_source("token_count");
  return {loss_sum, b.graph.sum(b.graph.like(losses, 1), all_axes(losses))};
}

/// -y log sigmoid(x) - (1 - y) log sigmoid(-x) without overflow: max(x, 0) - x y + log(1 + exp(-|x|)).
Value* binary_cross_entropy(GraphBuilder& g, Value* x, Value* y) {
  Value* tail = g.log1p(g.exp(g.neg(g.abs(x))));
  return g.add(g.sub(g.max(x, g.like(x, 0)), g.mul(x, y)), tail);
}

}  // namespace

Type label_type(const TransformerSpec& spec, const Dim& batch) {
  if (spec.head.problem == Problem::one_class) return {DType::i32, {batch}};
  if (spec.head.classes == 1) return {DType::f32, {batch}};
  return {DType::f32, {batch, spec.head.classes}};
}

LossOutputs class_loss(BlockBuilder& b, Value* logits, Value* labels) {
  if (b.spec.head.problem == Problem::one_class) return cross_entropy_loss(b, logits, labels);
  b.graph.set_source("loss");
  logits = b.graph.reshape(logits, labels->shape());
  if (b.spec.head.problem == Problem::several_classes)
    return summed(b, binary_cross_entropy(b.graph, logits, labels));
  Value* difference = b.graph.sub(logits, labels);
  return summed(b, b.graph.mul(difference, difference));
}

namespace {

/// The mean loss of the part; 0 if it has no targets.
Value* mean_of(GraphBuilder& g, const LossOutputs& part) {
  return g.div(part.loss_sum, g.max(part.token_count, g.like(part.token_count, 1)));
}

}  // namespace

LossOutputs sum_of_means(BlockBuilder& b, llvm::ArrayRef<LossOutputs> parts, double factor) {
  if (parts.size() == 1) return {times(b, parts[0].loss_sum, factor), parts[0].token_count};
  GraphBuilder& g = b.graph;
  g.set_source("loss");
  Value* count = parts[0].token_count;
  for (const LossOutputs& part : parts.drop_front()) count = g.max(count, part.token_count);
  Value* means = mean_of(g, parts[0]);
  for (const LossOutputs& part : parts.drop_front()) means = g.add(means, mean_of(g, part));
  return {times(b, g.mul(means, count), factor), count};
}

LossOutputs cross_entropy_loss(BlockBuilder& b, Value* logits, Value* targets) {
  b.graph.set_source("loss");
  const Attributes attributes = {attr::label_smoothing(smoothing_of(b.spec, logits->shape().back())),
                                 attr::ignore_index(b.spec.criterion.ignore_index)};
  Value* losses = b.graph.create(Op::cross_entropy, {logits, targets}, attributes)->result();
  const std::vector<int64_t> axes = all_axes(losses);
  Value* loss_sum = b.graph.sum(losses, axes);
  b.graph.set_source("token_count");
  const auto ignored = static_cast<double>(b.spec.criterion.ignore_index);
  Value* counted = b.graph.convert(b.graph.ne(targets, b.graph.like(targets, ignored)), DType::f32);
  return {loss_sum, b.graph.sum(counted, axes)};
}

}  // namespace smelt
