// Adds a body to a matmul, and splits a node's body into nodes.
#pragma once

#include <memory>

#include "ir/builder.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Writes a body whose inputs have these types.
using WriteBody = llvm::function_ref<std::unique_ptr<Graph>(llvm::ArrayRef<Type> inputs)>;
/// Makes the matmul again at the builder's position, with a body over its accumulator and `arguments`.
/// Attributes, source and phase are kept.
Node* matmul_with_body(GraphBuilder& b, const Node& matmul, llvm::ArrayRef<Value*> arguments,
                       WriteBody write);

/// Values by the values of a body that they stand for.
using BodyValues = llvm::DenseMap<const Value*, Value*>;
/// Copies the body's nodes to `graph` before `place` (null: to its end); `values` gives the body's inputs,
/// and gets what the nodes compute. Nodes without a source name get this one.
void inline_body(const Graph& body, Graph& graph, Node* place, std::string_view source, BodyValues& values);

/// Replaces the node by the op alone, whose result is f32, and the nodes of its body.
void split_body(Graph& graph, Node* node);

}  // namespace smelt
