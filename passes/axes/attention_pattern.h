// The matmuls around a softmax that make it an attention, and what stands between them.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

struct AttentionPattern {
  Node* product;                        // scores [b,h,t,s] of queries and keys
  llvm::DenseSet<const Node*> between;  // operations on them, up to the softmax
  Node* softmax;
  Node* dropout;  // of the weights; null where there is none
  Node* mix;      // the matmul with the values
};

/// The pattern around a softmax, as raise_attention.h says.
std::optional<AttentionPattern> attention_pattern(Node& softmax);

/// An operand's axes in the order of these letters.
struct LetteredOperand {
  Value* value;
  std::vector<int64_t> permutation;
};
/// Queries as [b,t,h,d] and keys as [b,s,h,d].
struct QueriesAndKeys {
  LetteredOperand queries, keys;
};
std::optional<QueriesAndKeys> queries_and_keys(const Node& product);
/// Values as [b,s,h,d], and how the mix orders the axes of means [b,t,h,d].
struct ValuesAndMeans {
  LetteredOperand values;
  std::vector<int64_t> means;
};
std::optional<ValuesAndMeans> values_and_means(const Node& mix, const Value* weights);

}  // namespace smelt
