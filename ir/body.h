// Bodies: small graphs that a node holds. An op whose row in ops.def says `region` may have one; a fusion is
// nothing but a body.
//
// A body's inputs are first what the op itself computes (the accumulator of a matmul; a fusion computes
// nothing), then the node's last operands, the body's arguments. Its outputs are the node's results. What the
// op computes is given to the body in f32, so that every rounding is written in the body.
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

/// The names of what the op passes to its body before the arguments: {"acc"} for a matmul, none for a fusion.
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
/// The body's input for what the op itself computes. The node must have a body and not be a fusion.
Value* handed_value(const Node& node);

/// A body without nodes: inputs of these types, called as `handed_to_body` says, then a0, a1, ...
std::unique_ptr<Graph> empty_body(Module& module, Op op, llvm::ArrayRef<Type> inputs);

}  // namespace smelt
