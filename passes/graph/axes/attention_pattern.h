// Attention pattern: the two matmuls around a softmax, and the nodes between them.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

struct AttentionPattern {
  Node* product;                        // scores [b,h,t,s] of queries and keys
  llvm::DenseSet<const Node*> between;  // operations on them, up to the softmax
  Node* softmax;
  Node* dropout;  // of the weights; null where there is none
  Node* mix;      // the matmul with the values
};

/// Returns the pattern around a softmax under the conditions of match_attention.h.
std::optional<AttentionPattern> attention_pattern(Node& softmax);

/// Operand whose axes are in the order of these letters.
struct LetteredOperand {
  Value* value;
  std::vector<int64_t> permutation;
};
/// Queries as [b,t,h,d] and keys as [b,s,h,d].
struct QueriesAndKeys {
  LetteredOperand queries, keys;
};
std::optional<QueriesAndKeys> queries_and_keys(const Node& product);
/// Values as [b,s,h,d], and the order of axes that the second matmul gives the means [b,t,h,d].
struct ValuesAndMeans {
  LetteredOperand values;
  std::vector<int64_t> means;
};
std::optional<ValuesAndMeans> values_and_means(const Node& mix, const Value* weights);

}  // namespace smelt
