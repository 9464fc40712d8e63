// decompose: replaces composite ops with primitives, one function per composite (decompositions.cpp).
//
//   %m = reduce max %x; %e = exp (sub %x, %m)      (for example)
//   %y = softmax %x     =>     %s = reduce add %e; %y = div %e, %s
//
// The new nodes take the composite's position, its source name (with a suffix where that helps) and its
// phase; the body of a matmul becomes nodes after it. A decomposition may make composites again (attention
// makes a softmax and a dropout); these are decomposed as well, and so is arithmetic on integers of 8 and 16
// bits. Ensures: the graph computes the same values; types of results do not change.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph/builder.h"
#include "ir/pass_options.h"
#include "passes/graph/simplify/kept_attention.h"

namespace smelt {

struct DecomposeOptions {
  std::vector<Op> keep;          // composites that stay
  KeptAttention attention = {};  // which attentions stay, if they are kept at all
};
template <typename Field>
void visit_options(Field& field, DecomposeOptions& o) {
  field("keep", o.keep), visit_options(field, o.attention);
}
bool decompose(Graph& graph, const DecomposeOptions& options);

/// Function that builds the values of a composite, one per result, from primitives and other composites.
using Values = llvm::SmallVector<Value*, 4>;
using Decomposition = Values (*)(GraphBuilder&, const Node&);
/// Returns the decomposition of an op; null for primitives.
Decomposition decomposition(Op op);

// ---- decompose_conv.cpp, decompose_sort.cpp, decompose_attention.cpp
Values decompose_conv(GraphBuilder& b, const Node& node);
Values decompose_sort(GraphBuilder& b, const Node& node);
Values decompose_attention(GraphBuilder& b, const Node& node);
Values decompose_attention_grad(GraphBuilder& b, const Node& node);

}  // namespace smelt
