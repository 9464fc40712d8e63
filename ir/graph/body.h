// Bodies: small graphs inside a node. An op with the trait `region` in ir/ops/ops.def may have a body. A
// fusion consists of a body only.
//
// A body has two kinds of inputs. The first inputs are the block arguments: values that the op itself
// computes, such as the accumulator of a matmul or the scores of an attention. A fusion has no block
// arguments. The other inputs are the body's arguments, which have the values of the node's last operands.
// The outputs of the body are the node's results, except for attention and attention_grad, which compute
// their results from the outputs of the body (ir/graph/attention_body.h). The op passes its values to the
// body in f32, so that every rounding is explicit in the body.
//
//   %y = matmul %x, %w (%acc, %b = %bias) {spec = "bc,oc->bo"} {
//     %row = broadcast %b {axes = [1]} : f32[B,7]
//     %sum = add %acc, %row : f32[B,7]
//     return %sum
//   } : f32[B,7]
//
// Here %acc is the block argument, and %b is the body's input for the operand %bias.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns the names of the block arguments that the op passes to its body: {"acc"} for a matmul, {"score"}
/// for an attention, {"score", "product"} for an attention_grad, none for a fusion.
llvm::ArrayRef<std::string_view> handed_to_body(Op op);

/// Operand that the body reads, and the body's input for it.
struct BodyArgument {
  Value* operand;
  Value* input;
};
/// Returns the arguments of a node's body in the order of the operands; empty for a node without a body.
std::vector<BodyArgument> body_arguments(const Node& node);
/// Returns the operands that the op itself reads, without the operands that its body reads. A node without a
/// body reads all operands itself, and a fusion none.
llvm::ArrayRef<Value*> own_operands(const Node& node);
/// Returns the body's inputs for the block arguments; none for a node without a body.
llvm::SmallVector<Value*, 2> handed_values(const Node& node);
/// Returns the first node of a body that is no input; null if there is none.
Node* first_computation(const Graph& body);
/// Returns whether the results of a node of this op are the outputs of its body, if it has a body.
bool returns_its_body(Op op);

/// Returns a body for the op that has only inputs, of these types. Block arguments are named as in
/// `handed_to_body`, and arguments a0, a1, ...
std::unique_ptr<Graph> empty_body(Module& module, Op op, llvm::ArrayRef<Type> inputs);

}  // namespace smelt
