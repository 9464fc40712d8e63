// Bodies of attention nodes (score_mod): the function that modifies each attention score.
//
// Attention computes score = scale * q . k, f32[b,h,t,s], for each batch b, head h, query t and key s. It
// passes the scores to its body, which returns modified scores of the same shape and, optionally, a factor
// for each weight. A modified score of -inf hides the key from the query. The results are
//
//   lse[b,h,t] = log sum_s exp(modified)              (-inf for a query that sees no key)
//   y[b,t,h,:] = sum_s exp(modified - lse) factor v[b,s,h / group,:]            (0 for such a query)
//   rest = (exact y) - (y rounded to its type)      (only if the attribute `rest` is true)
//
// where `group` query heads share a head of k and v. `rest` is the rounding residual and has the type of y.
// Gradients read y + rest where y alone is not accurate enough. A body is a small graph that computes each
// score separately. It may read positions (iota), random numbers, and arguments that are broadcast to the
// scores, but no other score. Example:
//
//   %y, %lse = attention %q, %k, %v (%score, %slopes = %alibi) {scale = 0.125} {
//     %t = iota {axis = 2} : i32[B,12,T,T]
//     ...
//     return %modified
//   } : f32[B,T,12,64], f32[B,12,T]
//
// Here %score is the score. The body reads the operand %alibi under the name %slopes.
//
// attention_grad(q, k, v, dy) computes the gradients, where dy is the gradient of y. It passes two values to
// its body, both f32[b,h,t,s]: score, and product = dy . v. The body returns two values of the same shape:
// the weight that multiplied v, and the gradient dscore of score. It then returns the gradients of the values
// that it reads. The results of attention_grad are
//
//   dq[b,t,h,:] = scale sum_s dscore[b,h,t,s] k[b,s,h / group,:]
//   dk[b,s,g,:] = scale sum_{h,t} dscore[b,h,t,s] q[b,t,h,:]
//   dv[b,s,g,:] = sum_{h,t} weight[b,h,t,s] dy[b,t,h,:]
//
// where h in dk and dv runs over the query heads that share key head g. The further results are the gradients
// of the values that the body reads.
#pragma once

#include "ir/graph/builder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

namespace smelt {

/// Builder of an attention node with the usual modifications of scores. Changes of the score's value are
/// applied in the order of the calls. Masks are applied after all changes: a key is hidden if any mask hides
/// it.
class AttentionWriter {
 public:
  /// Starts the attention of q[b,t,h,d], k[b,s,g,d] and v[b,s,g,d], where g is the number of key heads. `b`
  /// is the builder of the graph that contains the attention.
  AttentionWriter(GraphBuilder& b, Value* q, Value* k, Value* v, double scale);

  /// Applies score = bound * tanh(score / bound).
  void cap(double bound);
  /// Adds `bias` to the scores. Its dims are the last dims of the scores: [t,s], [h,t,s] or [b,h,t,s].
  void add(Value* bias);
  /// Adds slopes[h] * (position of the key - position of the query) (ALiBi, Press et al., 2021). Positions
  /// are as described at place_queries.
  void add_distance(Value* slopes);
  /// Sets the position of query t of batch b to past[b] + t; past: i32[b]. Key s has position s. Call it
  /// before modifications that use positions. By default, the last query has the position of the last key.
  void place_queries(Value* past);
  /// Interprets the keys as the slots of a sliding-window KV cache ("ring", ir/ops/ring_places.h) of constant
  /// size. `tokens`, i32[b], has the number of tokens of each row so far, at least 1. The position of a key
  /// is the number of the token in its slot. Slots without a token are hidden. Call it before modifications
  /// that use positions.
  void place_keys_in_ring(Value* tokens);
  /// Hides the keys whose position is after the query's position (causal mask).
  void mask_future();
  /// Hides the keys whose position is `length` or more before the query's position (sliding window).
  void mask_past(int64_t length);
  /// Hides key s of batch b if mask[b,s] is 0.
  void mask_keys(Value* mask);
  /// Hides the keys of other segments than the query's. Segment numbers: i32[b,t] of queries, i32[b,s] of
  /// keys.
  void mask_segments(Value* queries, Value* keys);
  /// Sets each weight to 0 with probability p (rounded to a multiple of 2^-16), and otherwise divides it by 1
  /// - p. `id` is the id of the random numbers (Module::next_random_id).
  void drop(double p, uint32_t id);

  /// Replaces the score by the result of make(inside, score), which adds nodes to the body. The nodes must
  /// not combine several scores.
  using Modify = llvm::function_ref<Value*(GraphBuilder& inside, Value* score)>;
  void modify(Modify make);
  /// Makes `outside`, a value of the surrounding graph, available in the body. Returns it, broadcast to the
  /// shape of the scores, [b,h,t,s]. `axes`: for each dim of `outside`, the number of its dim in that shape.
  Value* read(Value* outside, std::vector<int64_t> axes);

  /// Creates the attention node at the position of the builder `b`, and returns it. Call it once, last.
  Node* finish();

 private:
  /// Returns the body's argument for an outside value; equal values share an argument.
  Value* argument(Value* outside);
  /// Return the positions of queries and keys, i32[b,h,t,s].
  Value* query_place();
  Value* key_place();
  /// Hides the keys for which `condition`, a boolean per score, is false.
  void see(Value* condition);
  Value* like(double value) { return inside_.constant(value, scores_); }

  GraphBuilder& b_;
  llvm::SmallVector<Value*, 3> own_;  // q, k and v
  double scale_;
  std::unique_ptr<Graph> body_;
  GraphBuilder inside_;
  llvm::MapVector<Value*, Value*> arguments_;  // from a value outside to the body's input for it
  Type scores_;
  Value *score_, *seen_ = nullptr, *factor_ = nullptr, *query_place_ = nullptr, *key_place_ = nullptr;
};

}  // namespace smelt
