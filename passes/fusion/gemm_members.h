// The matmuls that merge_gemms makes one: what they share, and what replaces them.
#pragma once

#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/matmul_spec.h"
#include "passes/fusion/adjacency.h"

namespace smelt {

/// A matmul with one operand that is stacked with those of other matmuls.
struct Member {
  Node* node;
  unsigned side;       // of the operand that is stacked
  MatmulSpec letters;  // renamed, so that equal roles have equal letters
  Value* stacked() const { return node->operand(side); }
  Value* other() const { return node->operand(1 - side); }
  const std::string& stacked_letters() const { return side == 0 ? letters.a : letters.b; }
};

using Members = std::vector<Member>;

/// Renames letters in the order of their first place in `first`, then in the operands.
MatmulSpec renamed(const MatmulSpec& spec, const std::string& first);
/// The member with its stacked operand at `side`, letters named after the other operand's.
Member member_of(Node* matmul, unsigned side);
/// What members of one merge have in common: roles of letters, marks, and all dims but the stacked one.
std::string common_key(const Member& member, int64_t axis);
/// A matmul without a body.
inline bool is_product(const Node& node) { return node.is(Op::matmul) && !node.body; }
inline bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

/// The parameters that are stacked, in the members' order.
Stack names_of(const Members& members);
void order_like(Members& members, const Stack& stack);
/// "q + k + v"
std::string joined_source(llvm::ArrayRef<Node*> nodes);
/// Replaces the parts' results by slices of `whole` along `axis`, one after another.
void replace_by_slices(Graph& graph, GraphBuilder& b, Value* whole, int64_t axis,
                       llvm::ArrayRef<Node*> parts);

/// dx = sum_i g_i w_i becomes one matmul over concats.
bool merge_sums(Graph& graph);
/// dw_i = g_i^T x becomes one matmul where a concat of the g_i stands.
bool merge_matmuls_of_parts(Graph& graph);

}  // namespace smelt
