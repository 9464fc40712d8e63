// What passes do with bodies: a matmul gets one, a node loses its own.
#pragma once

#include <memory>

#include "ir/builder.h"

namespace smelt {

/// Writes a body whose inputs have these types.
using WriteBody = llvm::function_ref<std::unique_ptr<Graph>(llvm::ArrayRef<Type> inputs)>;
/// The matmul once more, where the builder stands, with a body over its accumulator and `arguments`.
/// It keeps attributes, source and phase.
Node* matmul_with_body(GraphBuilder& b, const Node& matmul, llvm::ArrayRef<Value*> arguments,
                       WriteBody write);

/// Puts the op alone, which hands on f32, and the nodes of its body in the node's place.
void split_body(Graph& graph, Node* node);

}  // namespace smelt
