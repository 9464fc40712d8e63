// Bodies: small graphs inside a node. An op whose row in ops.def has `region` may have one; a fusion is only
// a body.
//
// A body's inputs are first the values that the op itself computes (the accumulator of a matmul, the scores
// of an attention; a fusion computes none), then the node's last operands, the body's arguments. Its outputs
// are the node's results, except for attention, which continues with the outputs of the body
// (ir/graph/attention_body.h). The op passes its values to the body in f32, so that every rounding is
// explicit in the body.
//
//   %y = matmul %x, %w (%acc, %b = %bias) {spec = "bc,oc->bo"} {
//     %row = broadcast %b {axes = [1]} : f32[B,7]
//     %sum = add %acc, %row : f32[B,7]
//     return %sum
//   } : f32[B,7]
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns the names of the values that the op passes to its body before the arguments: {"acc"} for a matmul,
/// {"score"} for an attention, none for a fusion.
llvm::ArrayRef<std::string_view> handed_to_body(Op op);

/// Operand that the body reads, and the body's input for it.
struct BodyArgument {
  Value* operand;
  Value* input;
};
/// Returns the arguments in the order of the operands; empty for a node without a body.
std::vector<BodyArgument> body_arguments(const Node& node);
/// Returns the operands that the op itself reads: all for a node without a body, none for a fusion.
llvm::ArrayRef<Value*> own_operands(const Node& node);
/// Returns the body's inputs for values that the op itself computes; none for a node without a body.
llvm::SmallVector<Value*, 2> handed_values(const Node& node);
/// Returns the first node of a body that is no input; null if there is none.
Node* first_computation(const Graph& body);
/// Returns whether the results of a node with a body are the outputs of the body.
bool returns_its_body(Op op);

/// Returns a body with only inputs of these types, named as in `handed_to_body`, then a0, a1, ...
std::unique_ptr<Graph> empty_body(Module& module, Op op, llvm::ArrayRef<Type> inputs);

}  // namespace smelt
