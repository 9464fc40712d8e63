// decompose: replaces composite ops with primitives, one function a composite (decompositions.cpp).
//
// A composite's nodes take its place, its source name (with a suffix where that helps) and its phase; the
// body of a matmul becomes nodes behind it. What a decomposition makes may be composite again (attention
// makes a softmax and a dropout); these are replaced as well. Contract: the graph computes the same values;
// types of results do not change.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ir/builder.h"

namespace smelt {

struct DecomposeOptions {
  std::vector<Op> keep;                         // composites that stay
  std::function<bool(const Node&)> keeps = {};  // of these, only such nodes; null: all of them
};
bool decompose(Graph& graph, const DecomposeOptions& options);
/// keep = "softmax+cross_entropy"
void set_option(DecomposeOptions& options, std::string_view key, std::string_view value);

/// Builds the values of a composite, one a result, from primitives and other composites.
using Values = llvm::SmallVector<Value*, 4>;
using Decomposition = Values (*)(GraphBuilder&, const Node&);
/// Null for primitives.
Decomposition decomposition(Op op);

// ---- decompose_conv.cpp, decompose_sort.cpp, decompose_attention.cpp
Values decompose_conv(GraphBuilder& b, const Node& node);
Values decompose_sort(GraphBuilder& b, const Node& node);
Values decompose_attention(GraphBuilder& b, const Node& node);
Values decompose_attention_grad(GraphBuilder& b, const Node& node);

}  // namespace smelt
