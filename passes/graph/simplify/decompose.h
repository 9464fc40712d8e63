// decompose: replaces composite ops with primitives, by one function per composite (decompositions.cpp).
//
//   %y = softmax %x     =>     %m = reduce max %x; %e = exp (sub %x, %m)
//                              %s = reduce add %e; %y = div %e, %s
//
// The new nodes take the composite's position, its source name (perhaps with a suffix) and its phase. The
// epilogue of a matmul becomes nodes after the matmul. A decomposition may return composites again (attention
// returns a softmax and a dropout); these are decomposed as well. The pass also calls decompose_narrow and
// decompose_updates (simplify.h). Ensures: the graph computes the same values; types of results do not
// change.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph/builder.h"
#include "ir/pass_options.h"
#include "passes/graph/simplify/kept_attention.h"

namespace smelt {

struct DecomposeOptions {
  std::vector<Op> keep;          // composites that stay; a matmul in this list keeps its epilogue
  KeptAttention attention = {};  // if `keep` has attentions: which of them stay
};
template <typename Field>
void visit_options(Field& field, DecomposeOptions& o) {
  field("keep", o.keep), visit_options(field, o.attention);
}
/// Decomposes the graph; returns whether anything changed.
bool decompose(Graph& graph, const DecomposeOptions& options);

/// Values that replace the results of a composite, one per result.
using Values = llvm::SmallVector<Value*, 4>;
/// Function that builds these values from primitives and other composites. It does not change the composite.
using Decomposition = Values (*)(GraphBuilder&, const Node&);
/// Returns the decomposition of an op; null for primitives.
Decomposition decomposition(Op op);

// ---- decompose_conv.cpp, decompose_sort.cpp, decompose_attention.cpp
Values decompose_conv(GraphBuilder& b, const Node& node);
Values decompose_sort(GraphBuilder& b, const Node& node);
Values decompose_attention(GraphBuilder& b, const Node& node);
Values decompose_attention_grad(GraphBuilder& b, const Node& node);

}  // namespace smelt
