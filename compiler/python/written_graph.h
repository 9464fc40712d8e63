// WrittenGraph: a graph, or the body of a node, that an importer writes by GraphBuilder, a node at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/graph/builder.h"

namespace smelt::python {

class WrittenGraph {
 public:
  /// Makes an empty graph in a module of its own.
  WrittenGraph() : WrittenGraph(std::make_shared<Module>(), nullptr) {}
  /// Makes the body of a node of `around`. `given`: the types of what the node computes for its body.
  WrittenGraph(WrittenGraph& around, const std::vector<Type>& given);

  bool is_body() const { return around_ != nullptr; }
  /// Sets the source (Node::source) of the nodes that are added next.
  void set_source(std::string source) { source_ = std::move(source); }
  const std::string& source() const { return source_; }

  Value* input(const std::string& name, Type type);
  /// Returns the inputs in the order in which they were added.
  std::vector<Value*> inputs() const;
  /// Sets the range of the integers of an input. Throws Error if there is no input of this name.
  void set_range(std::string_view input, const IdRange& range);
  /// Returns the input of a body for a value of the graph around it.
  Value* argument(Value* outside);
  /// Adds a node, or returns the equal constant or iota that the graph has. `operation`: its word in the text
  /// form, for reductions two: "reduce add". `types`: those of its results, which are inferred if there are
  /// none. `body` becomes a part of the node. Throws the Errors of infer_types, and an Error if `types` are
  /// not those inferred.
  Node* node(std::string_view operation, llvm::ArrayRef<Value*> operands, Attributes attributes,
             const std::vector<Type>& types, WrittenGraph* body);
  /// Sets what a body returns.
  void returns(llvm::ArrayRef<Value*> values);
  /// Returns the graph in the text form, without the nodes that the results do not need.
  std::string text(std::string name, std::vector<Graph::Output> results) const;

 private:
  WrittenGraph(std::shared_ptr<Module> module, WrittenGraph* around);
  Graph& graph() const;
  GraphBuilder builder() const;
  Node* created(std::string_view operation, llvm::ArrayRef<Value*> operands, Attributes attributes,
                const std::vector<Type>& types);
  Node* created(Op op, llvm::ArrayRef<Value*> operands, Attributes attributes, WrittenGraph& body);
  Node* leaf(Op op, Attributes attributes, const std::vector<Type>& types);

  std::shared_ptr<Module> module_;
  std::unique_ptr<Graph> graph_;  // null: it is the body of a node now
  WrittenGraph* around_;          // null: this is no body
  std::string source_;
  std::vector<Value*> arguments_;                  // of a body: operands of its node
  std::unordered_map<std::string, Node*> leaves_;  // constants and iotas, by type and attributes
};

/// Sets an attribute of an operation, given by its word in the text form. Throws Error if the operation has
/// no such attribute, or another type or range of it.
void set_attribute(Attributes& attributes, std::string_view operation, const std::string& name,
                   Attribute value);

}  // namespace smelt::python
