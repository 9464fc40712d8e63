// Matmuls that the pass merge_gemms (merge_gemms.h) merges into one matmul. They are called members. Each
// member has one stacked operand. The merged matmul reads the concat of the members' stacked operands.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/builder.h"
#include "ir/ops/matmul_spec.h"
#include "passes/graph/fusion/adjacency.h"

namespace smelt {

/// A matmul that can be merged with others.
struct Member {
  Node* node;
  unsigned side;       // 0 or 1: number of the operand that is stacked
  MatmulSpec letters;  // spec after renamed(), so that all members of a merge have the same letters
  Value* stacked() const { return node->operand(side); }
  Value* other() const { return node->operand(1 - side); }
  const std::string& stacked_letters() const { return side == 0 ? letters.a : letters.b; }
};

using Members = std::vector<Member>;

/// Returns the spec with letters renamed to a, b, c, ... in the order in which they first appear in `first`,
/// then in the two operands.
MatmulSpec renamed(const MatmulSpec& spec, const std::string& first);
/// Returns the matmul as a member whose stacked operand is number `side`. Calls renamed() with the letters of
/// the other operand as `first`.
Member member_of(Node* matmul, unsigned side);
/// Returns a text that must be equal for matmuls to be merged. It has the letters, the side, Node::phase,
/// Node::anchored, and the type of the stacked operand without the dim `axis`, along which operands are
/// stacked.
std::string common_key(const Member& member, int64_t axis);
/// Returns whether the node is a matmul without a body.
inline bool is_product(const Node& node) { return node.is(Op::matmul) && !node.body; }
inline bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

/// Returns the names of the parameters that are the stacked operands, in the order of the members.
Stack names_of(const Members& members);
/// Sorts the members by the order of their stacked parameters in `stack`.
void order_like(Members& members, const Stack& stack);
/// Returns the joined source names: "q + k + v".
std::string joined_source(llvm::ArrayRef<Node*> nodes);
/// Replaces the results of the nodes `parts` by consecutive slices of `whole` along `axis`.
void replace_by_slices(Graph& graph, GraphBuilder& b, Value* whole, int64_t axis,
                       llvm::ArrayRef<Node*> parts);

/// Merges the matmuls of each sum dx = sum_i g_i w_i into one matmul, dx = concat(g_i) concat(w_i), if
/// Module::adjacent records the parameters w_i as adjacent. Returns whether the graph changed.
bool merge_sums(Graph& graph);
/// Merges the matmuls dw_i = g_i^T x into one, dW = concat(g_i)^T x, if a concat of the g_i exists in the
/// graph. Returns whether the graph changed.
bool merge_matmuls_of_parts(Graph& graph);

}  // namespace smelt
