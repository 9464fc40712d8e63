// Bodies: small graphs that a node holds. An op whose row in ops.def says `region` may have one; a fusion is
// nothing but a body.
//
// A body's inputs are first what the op itself computes (the accumulator of a matmul, the scores of an
// attention; a fusion computes nothing), then the node's last operands, the body's arguments. Its outputs are
// the node's results, but for attention, which goes on with what the body returns (ir/attention_body.h). What
// the op computes is given to the body in f32, so that every rounding is written in the body.
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

#include "ir/graph.h"

namespace smelt {

/// The names of what the op passes to its body before the arguments: {"acc"} for a matmul, {"score"} for an
/// attention, none for a fusion.
llvm::ArrayRef<std::string_view> handed_to_body(Op op);

/// An operand that the body reads, and the body's input that stands for it.
struct BodyArgument {
  Value* operand;
  Value* input;
};
/// In the order of the operands; empty for a node without a body.
std::vector<BodyArgument> body_arguments(const Node& node);
/// The operands that the op itself reads: all of a node without a body, none of a fusion.
llvm::ArrayRef<Value*> own_operands(const Node& node);
/// The body's inputs for what the op itself computes; none for a node without a body.
llvm::SmallVector<Value*, 2> handed_values(const Node& node);
/// Where arguments end: the first node of a body that is no input; null where there is none.
Node* first_computation(const Graph& body);
/// Whether the results of a node with a body are the outputs of the body.
bool returns_its_body(Op op);

/// A body without nodes: inputs of these types, called as `handed_to_body` says, then a0, a1, ...
std::unique_ptr<Graph> empty_body(Module& module, Op op, llvm::ArrayRef<Type> inputs);

}  // namespace smelt
