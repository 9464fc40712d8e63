// Bodies of attention (score_mod): the function of each attention score.
//
// Attention computes score = scale * q . k for each batch, head, query and key, f32[b,h,t,s], and passes it
// to its body, which returns a modified score of the same shape and optionally a factor of the weight. A
// modified score of -inf hides the key from the query. The results are
//
//   lse[b,h,t] = log sum_s exp(modified)              (-inf for a query that sees no key)
//   y[b,t,h,:] = sum_s exp(modified - lse) factor v[b,s,h / group,:]            (0 for such a query)
//   rest = y - (y rounded to its type)              (where the attribute `rest` is true)
//
// where `group` query heads share a head of k and v. `rest`, the rounding residual, has the type of y: y +
// rest has the digits that a gradient needs where numbers of the size of y cancel
// (passes/graph/precision/precision_passes.h). A body is a small graph on each score alone: it may read
// positions (iota), random numbers and arguments broadcast to the scores, and no other score.
//
//   %y, %lse = attention %q, %k, %v (%score, %slopes = %alibi) {scale = 0.125} {
//     %t = iota {axis = 2} : i32[B,12,T,T]
//     ...
//     return %modified
//   } : f32[B,T,12,64], f32[B,12,T]
//
// attention_grad(q, k, v, dy) passes score and product = dy . v to its body, which returns the weight that
// multiplied v, the gradient of `score`, f32[b,h,t,s], and the gradients of the values that the body reads.
// Its results are dq = scale sum_s dscore k, dk = scale sum_t dscore q, dv = sum_t weight dy (dk and dv
// summed over a group), and those gradients.
#pragma once

#include "ir/graph/builder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

namespace smelt {

/// Writes an attention with the usual modifications of scores, in the order of the calls.
class AttentionWriter {
 public:
  /// Starts the attention of q[b,t,h,d], k[b,s,k,d] and v[b,s,k,d].
  AttentionWriter(GraphBuilder& b, Value* q, Value* k, Value* v, double scale);

  /// Applies score = bound * tanh(score / bound).
  void cap(double bound);
  /// Adds a value broadcast to the scores: its dims are their last ones, [t,s], [h,t,s] or [b,h,t,s].
  void add(Value* bias);
  /// Adds slope[h] * (s - t), with positions counted from the ends of both (Press et al., 2021).
  void add_distance(Value* slopes);
  /// Places query t of batch b at position past[b] + t among the keys; past: i32[b]. Call it before
  /// modifications that use positions. By default the last query is at the position of the last key.
  void place_queries(Value* past);
  /// Interprets keys as slots of rings (sliding-window KV cache) of constant size, in which batch b has
  /// tokens[b] >= 1 tokens, i32[b] (ir/ops/ring_places.h): the position of a key is that of its token, and
  /// slots without a token are hidden. Call it before modifications that use positions.
  void place_keys_in_ring(Value* tokens);
  /// Lets query t see key s where s <= t, counted from the ends of both, so that the last query sees all
  /// keys.
  void mask_future();
  /// Lets query t see the last `length` keys up to its own position.
  void mask_past(int64_t length);
  /// Hides the keys where mask[b,s] is 0.
  void mask_keys(Value* mask);
  /// Lets a query see the keys of its own segment: i32[b,t] of the queries, i32[b,s] of the keys.
  void mask_segments(Value* queries, Value* keys);
  /// Sets each weight to 0 with probability p, otherwise divides it by 1 - p. `id` names the random numbers.
  void drop(double p, uint32_t id);

  /// Applies score = make(score): any operations on each score alone.
  using Modify = llvm::function_ref<Value*(GraphBuilder& inside, Value* score)>;
  void modify(Modify make);
  /// Reads an outside value for such operations; its dims become `axes` of b, h, t, s.
  Value* read(Value* outside, std::vector<int64_t> axes);

  /// Builds the attention at the builder's position.
  Node* finish();

 private:
  /// Returns the body's argument for an outside value; equal values share an argument.
  Value* argument(Value* outside);
  /// Return the positions of queries and keys, i32[b,h,t,s], such that equal positions see each other.
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
