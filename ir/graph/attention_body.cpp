#include "ir/graph/attention_body.h"

#include <cmath>
#include <limits>

#include "ir/graph/body.h"
#include "ir/ops/ring_places.h"
#include "runtime/base/error.h"

namespace smelt {

AttentionWriter::AttentionWriter(GraphBuilder& b, Value* q, Value* k, Value* v, double scale)
    : b_(b),
      own_({q, k, v}),
      scale_(scale),
      body_(empty_body(b.module(), Op::attention,
                       infer_body_inputs(Op::attention, {q, k, v}, {}, {attr::scale(scale)}))),
      inside_(*body_),
      scores_(body_->inputs().front()->result()->type),
      score_(body_->inputs().front()->result()) {}

void AttentionWriter::cap(double bound) {
  score_ = inside_.mul(inside_.tanh(inside_.mul(score_, like(1 / bound))), like(bound));
}

void AttentionWriter::add(Value* bias) {
  std::vector<int64_t> axes;
  for (int64_t axis = 4 - bias->rank(); axis < 4; ++axis) axes.push_back(axis);
  score_ = inside_.add(score_, inside_.convert(read(bias, std::move(axes)), DType::f32));
}

void AttentionWriter::add_distance(Value* slopes) {
  Value* distance = inside_.convert(inside_.sub(key_place(), query_place()), DType::f32);
  score_ = inside_.add(score_, inside_.mul(read(slopes, {1}), distance));
}

void AttentionWriter::place_queries(Value* past) {
  query_place_ = inside_.add(inside_.iota({DType::i32, scores_.shape}, 2), read(past, {0}));
}

void AttentionWriter::place_keys_in_ring(Value* tokens) {
  const int64_t places = *scores_.shape[3].constant();
  const RingEnd end = ring_end(b_, tokens, places);
  const RingEnd here = {read(end.last_place, {0}), read(end.first_token, {0})};
  key_place_ = token_at(inside_, key_place(), here, places);
  see(inside_.ge(key_place_, inside_.like(key_place_, 0)));
}

void AttentionWriter::mask_future() { see(inside_.ge(query_place(), key_place())); }

void AttentionWriter::mask_past(int64_t length) {
  Value* distance = inside_.sub(query_place(), key_place());
  see(inside_.lt(distance, inside_.like(distance, static_cast<double>(length))));
}

void AttentionWriter::mask_keys(Value* mask) {
  Value* real = read(mask, {0, 3});
  see(inside_.ne(real, inside_.like(real, 0)));
}

void AttentionWriter::mask_segments(Value* queries, Value* keys) {
  see(inside_.eq(read(queries, {0, 2}), read(keys, {0, 3})));
}

void AttentionWriter::drop(double p, uint32_t id) {
  const double threshold = std::round(p * 65536);
  if (threshold == 0) return;
  Value* bits = inside_.random(scores_.shape, id);
  Value* kept = inside_.ge(bits, inside_.like(bits, threshold));
  Value* factor = inside_.select(kept, like(65536 / (65536 - threshold)), like(0));
  factor_ = factor_ ? inside_.mul(factor_, factor) : factor;
}

void AttentionWriter::modify(Modify make) { score_ = make(inside_, score_); }

Node* AttentionWriter::finish() {
  if (seen_) score_ = inside_.select(seen_, score_, like(-std::numeric_limits<double>::infinity()));
  if (score_ == body_->inputs().front()->result() && !factor_)
    return b_.create(Op::attention, own_, {attr::scale(scale_)});
  inside_.output("r0", score_);
  if (factor_) inside_.output("r1", factor_);
  llvm::SmallVector<Value*, 6> operands(own_.begin(), own_.end());
  for (const auto& [outside, inside] : arguments_) operands.push_back(outside);
  return b_.create(Op::attention, operands, {attr::scale(scale_)}, std::move(body_));
}

Value* AttentionWriter::argument(Value* outside) {
  Value*& inside = arguments_[outside];
  if (inside) return inside;
  Node* input = body_->create(Op::input, {}, outside->type, first_computation(*body_));
  input->set(attr::name, "a" + std::to_string(arguments_.size() - 1));
  return inside = input->result();
}

Value* AttentionWriter::read(Value* outside, std::vector<int64_t> axes) {
  return inside_.broadcast(argument(outside), std::move(axes), scores_.shape);
}

Value* AttentionWriter::query_place() {
  if (query_place_) return query_place_;
  const Dim &queries = scores_.shape[2], &keys = scores_.shape[3];
  query_place_ = inside_.iota({DType::i32, scores_.shape}, 2);
  if (queries == keys) return query_place_;
  Value* before = b_.sub(b_.extent(keys, DType::i32), b_.extent(queries, DType::i32));
  return query_place_ = inside_.add(query_place_, read(before, {}));
}

Value* AttentionWriter::key_place() {
  if (!key_place_) key_place_ = inside_.iota({DType::i32, scores_.shape}, 3);
  return key_place_;
}

void AttentionWriter::see(Value* condition) {
  seen_ = seen_ ? inside_.logical_and(seen_, condition) : condition;
}

}  // namespace smelt
