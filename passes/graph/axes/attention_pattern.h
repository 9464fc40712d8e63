// Attention pattern: a matmul, a softmax of its result, a second matmul, and the nodes between these. The
// results of the softmax are the weights. The results of the second matmul are the means: for each query, the
// mean of the values with these weights. Dims have letters: b batch, h heads, t queries, s keys, d the width
// of a head.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

struct AttentionPattern {
  Node* product;                        // the matmul of queries and keys, which makes scores [b,h,t,s]
  llvm::DenseSet<const Node*> between;  // operations on the scores, up to the softmax
  Node* softmax;                        // makes the weights [b,h,t,s]
  Node* dropout;                        // the only reader of the softmax; null if there is no dropout
  Node* mix;  // the matmul with the values: only reader of the weights, or of the dropout if there is one
};

/// Returns the pattern around a softmax, or nothing if a condition of match_attention.h fails. It does not
/// check whether `mix` is a matmul with values: values_and_means does.
std::optional<AttentionPattern> attention_pattern(Node& softmax);

/// Operand of a matmul, and the permutation that brings its axes into a required order.
struct LetteredOperand {
  Value* value;
  std::vector<int64_t> permutation;  // axis i of the required order is axis permutation[i] of `value`
};
/// Queries with the required order [b,t,h,d] and keys with the required order [b,s,h,d].
struct QueriesAndKeys {
  LetteredOperand queries, keys;
};
/// Returns the operands of the first matmul, or nothing if it does not make scores [b,h,t,s] of queries and
/// keys.
std::optional<QueriesAndKeys> queries_and_keys(const Node& product);
/// Values with the required order [b,s,h,d], and the axes of the means: axis i of the second matmul's result
/// is axis means[i] of [b,t,h,d].
struct ValuesAndMeans {
  LetteredOperand values;
  std::vector<int64_t> means;
};
/// Returns the values and the order of the axes of the means, or nothing if `mix` is no matmul of these
/// weights with values. `weights` are the weights after the dropout, if there is one.
std::optional<ValuesAndMeans> values_and_means(const Node& mix, const Value* weights);

}  // namespace smelt
