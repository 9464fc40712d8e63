// Builder of a `fusion` node and its body from nodes of the graph.
#pragma once

#include <memory>
#include <vector>

#include "ir/analysis/iteration_space.h"
#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// One fusion while it is being built. A value from outside is one input of the body if all its uses have the
/// same axes of the loop nest (ir/analysis/iteration_space.h). Else it is one input per list of axes.
class FusionBody {
 public:
  explicit FusionBody(Module& module) : graph_(std::make_unique<Graph>(module)) {}

  /// Adds a copy of `node`. The nodes must be added in program order. Cheap nodes (cheap_nodes.h) with the
  /// same operation, attributes, operands and axes are added once.
  void add(const Node& node, const IterationSpace& space, bool is_cheap);
  /// Creates the fusion before the node `before`, or at the end of the graph if `before` is null. The results
  /// of the fusion replace the values `outputs`. Returns the fusion. Requires: called once, after the last
  /// add().
  Node* finish(Graph& graph, llvm::ArrayRef<Value*> outputs, Node* before);

 private:
  struct Input {
    Value* outside;
    IterationSpace::Axes axes;
    Value* inner;
  };
  struct Cheap {
    const Node* node;  // in the graph
    Node* twin;        // its copy in the body
    IterationSpace::Axes axes;
  };
  Value* input(Value* outside, const IterationSpace::Axes& axes);
  /// Returns the copy of a cheap node in the body that equals `node`; null if there is none.
  Node* equal(const Node& node, llvm::ArrayRef<Value*> operands, const IterationSpace::Axes& axes) const;

  std::unique_ptr<Graph> graph_;
  std::vector<Input> inputs_;
  std::vector<Cheap> cheap_;
  llvm::DenseMap<Value*, Value*> map_;  // from results of nodes of the graph to results of their copies
};

}  // namespace smelt
