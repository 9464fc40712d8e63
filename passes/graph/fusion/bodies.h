// Functions that add a body (ir/graph/body.h) to a matmul as its epilogue, and that replace a node with a
// body by the nodes of the body.
#pragma once

#include <memory>

#include "ir/graph/builder.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Function that returns a body with inputs of these types: the f32 accumulator, then the arguments.
using WriteBody = llvm::function_ref<std::unique_ptr<Graph>(llvm::ArrayRef<Type> inputs)>;
/// Builds a copy of the matmul at the builder's position, with a body that reads the accumulator and the
/// values `arguments`. The copy has the source, the phase and the attributes of the matmul, except for
/// `result`, because the body determines the result's type. Returns the copy.
Node* matmul_with_body(GraphBuilder& b, const Node& matmul, llvm::ArrayRef<Value*> arguments,
                       WriteBody write);

/// Map from values of a body to the values of the graph that replace them.
using BodyValues = llvm::DenseMap<const Value*, Value*>;
/// Copies the body's nodes to `graph` before the node `place`, or to the end of the graph if it is null.
/// Requires: `values` has a value for each input of the body. Ensures: `values` also maps the results of the
/// body's nodes to those of their copies. Nodes without a source name get `source`.
void inline_body(const Graph& body, Graph& graph, Node* place, std::string_view source, BodyValues& values);

/// Takes the body out of `node`. A matmul becomes a matmul with an f32 result and no body, followed by the
/// nodes of the body. A fusion is replaced by the nodes of its body.
void split_body(Graph& graph, Node* node);

}  // namespace smelt
