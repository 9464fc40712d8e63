// Adds a body (epilogue) to a matmul, and splits the body of a node into nodes.
#pragma once

#include <memory>

#include "ir/graph/builder.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Function that makes a body with inputs of these types.
using WriteBody = llvm::function_ref<std::unique_ptr<Graph>(llvm::ArrayRef<Type> inputs)>;
/// Builds the matmul again at the builder's position, with a body over its accumulator and `arguments`.
/// Attributes, source and phase are kept.
Node* matmul_with_body(GraphBuilder& b, const Node& matmul, llvm::ArrayRef<Value*> arguments,
                       WriteBody write);

/// Map from values of a body to the values that replace them.
using BodyValues = llvm::DenseMap<const Value*, Value*>;
/// Copies the body's nodes to `graph` before `place` (null: to its end). `values` maps the body's inputs on
/// entry, and also the results of its nodes on return. Nodes without a source name get `source`.
void inline_body(const Graph& body, Graph& graph, Node* place, std::string_view source, BodyValues& values);

/// Replaces the node by its op without a body, whose result is f32, followed by the nodes of the body.
void split_body(Graph& graph, Node* node);

}  // namespace smelt
