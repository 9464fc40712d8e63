// Bodies of attention: what becomes of a score.
//
// Attention computes score = scale * q . k for each batch, head, query and key, f32[b,h,t,s], and hands it to
// its body, which returns a modified score of the same shape and, if it likes, a factor of the weight. A
// modified score of -inf is a key that the query does not see. The results are
//
//   lse[b,h,t] = log sum_s exp(modified)              (-inf for a query that sees no key)
//   y[b,t,h,:] = sum_s exp(modified - lse) factor v[b,s,h / group,:]            (0 for such a query)
//   rest = y - what its type holds of it            (where the attribute `rest` is true)
//
// where `group` query heads share a head of k and v. `rest` has the type of y: y + rest has the digits that a
// gradient needs where numbers of the size of y cancel (passes/precision/keep_attention_rest.h). A body is a
// small graph on each score alone: it may read places (iota), random numbers and arguments broadcast to the
// scores, and no other score.
//
//   %y, %lse = attention %q, %k, %v (%score, %slopes = %alibi) {scale = 0.125} {
//     %t = iota {axis = 2} : i32[B,12,T,T]
//     ...
//     return %modified
//   } : f32[B,T,12,64], f32[B,12,T]
//
// attention_grad(q, k, v, dy) is handed score and product = dy . v, and returns the weight that multiplied v
// and the gradient of `score`, f32[b,h,t,s]; then the gradients of what the body reads. Its results are dq =
// scale sum_s dscore k, dk = scale sum_t dscore q, dv = sum_t weight dy (dk and dv summed over a group), and
// those gradients.
#pragma once

#include "ir/builder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

namespace smelt {

/// Writes an attention whose body is made of the usual modifications, in the order of the calls.
class AttentionWriter {
 public:
  /// q[b,t,h,d], k and v[b,s,k,d].
  AttentionWriter(GraphBuilder& b, Value* q, Value* k, Value* v, double scale);

  /// score = bound * tanh(score / bound).
  void cap(double bound);
  /// Adds a value broadcast to the scores: its dims are their last ones, [t,s], [h,t,s] or [b,h,t,s].
  void add(Value* bias);
  /// Adds slope[h] * (s - t), places counted from the ends of both (Press et al., 2021).
  void add_distance(Value* slopes);
  /// Query t of batch b is at place past[b] + t among the keys, i32[b]; before what counts places. Where
  /// nothing is said, the last query is at the place of the last key.
  void place_queries(Value* past);
  /// Keys are the places of rings, of a constant number, in which batch b has so many tokens, i32[b], at
  /// least one (ir/ring_places.h): the place of a key is then its token, and one without a token is not seen.
  /// Before what counts places.
  void place_keys_in_ring(Value* tokens);
  /// Query t sees key s where s <= t, counted from the ends of both, so that the last query sees all keys.
  void mask_future();
  /// Query t sees the last `length` keys up to its own place.
  void mask_past(int64_t length);
  /// A key is seen where mask[b,s] is not 0.
  void mask_keys(Value* mask);
  /// A query sees the keys of its own segment: i32[b,t] of the queries, i32[b,s] of the keys.
  void mask_segments(Value* queries, Value* keys);
  /// Each weight is 0 with probability p, else divided by 1 - p. `id` names the random numbers.
  void drop(double p, uint32_t id);

  /// score = what `make` returns: any operations on each score alone.
  using Modify = llvm::function_ref<Value*(GraphBuilder& inside, Value* score)>;
  void modify(Modify make);
  /// A value of outside for such operations: its dims become these of b, h, t, s.
  Value* read(Value* outside, std::vector<int64_t> axes);

  /// The attention, at the builder's place.
  Node* finish();

 private:
  /// The body's value for one outside; the same for the same.
  Value* argument(Value* outside);
  /// Places of queries and keys, i32[b,h,t,s], such that equal places see each other.
  Value* query_place();
  Value* key_place();
  void see(Value* condition);
  Value* like(double value) { return inside_.constant(value, scores_); }

  GraphBuilder& b_;
  llvm::SmallVector<Value*, 3> own_;
  double scale_;
  std::unique_ptr<Graph> body_;
  GraphBuilder inside_;
  llvm::MapVector<Value*, Value*> arguments_;  // outside, inside
  Type scores_;
  Value *score_, *seen_ = nullptr, *factor_ = nullptr, *query_place_ = nullptr, *key_place_ = nullptr;
};

}  // namespace smelt
