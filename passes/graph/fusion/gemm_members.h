// Matmuls that merge_gemms merges into one: their common properties, and their replacement.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/builder.h"
#include "ir/ops/matmul_spec.h"
#include "passes/graph/fusion/adjacency.h"

namespace smelt {

/// Matmul with one operand that is stacked with those of other matmuls.
struct Member {
  Node* node;
  unsigned side;       // of the operand that is stacked
  MatmulSpec letters;  // renamed, so that equal roles have equal letters
  Value* stacked() const { return node->operand(side); }
  Value* other() const { return node->operand(1 - side); }
  const std::string& stacked_letters() const { return side == 0 ? letters.a : letters.b; }
};

using Members = std::vector<Member>;

/// Renames letters by their first position in `first`, then in the operands.
MatmulSpec renamed(const MatmulSpec& spec, const std::string& first);
/// Returns the member with its stacked operand at `side`; letters are named after those of the other operand.
Member member_of(Node* matmul, unsigned side);
/// Returns a key that members of one merge share: roles of letters, marks, and all dims but the stacked one.
std::string common_key(const Member& member, int64_t axis);
/// Returns whether the node is a matmul without a body.
inline bool is_product(const Node& node) { return node.is(Op::matmul) && !node.body; }
inline bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

/// Returns the names of the stacked parameters, in the members' order.
Stack names_of(const Members& members);
void order_like(Members& members, const Stack& stack);
/// Returns the joined source names: "q + k + v".
std::string joined_source(llvm::ArrayRef<Node*> nodes);
/// Replaces the results of `parts` by consecutive slices of `whole` along `axis`.
void replace_by_slices(Graph& graph, GraphBuilder& b, Value* whole, int64_t axis,
                       llvm::ArrayRef<Node*> parts);

/// Merges dx = sum_i g_i w_i into one matmul over concats.
bool merge_sums(Graph& graph);
/// Merges the matmuls dw_i = g_i^T x into one if a concat of the g_i exists.
bool merge_matmuls_of_parts(Graph& graph);

}  // namespace smelt
