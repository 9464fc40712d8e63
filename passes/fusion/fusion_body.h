// The body of a fusion from the nodes that it is going to hold.
#pragma once

#include <memory>
#include <vector>

#include "ir/analysis/iteration_space.h"
#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// There is one input for each outside value and each way in which its dims follow the axes.
class FusionBody {
 public:
  explicit FusionBody(Module& module) : graph_(std::make_unique<Graph>(module)) {}

  /// Adds the next node, in program order. A node that every reader computes for itself is added once for all
  /// readers that follow the same axes.
  void add(const Node& node, const IterationSpace& space, bool is_cheap);
  /// Makes the fusion before `before` (null: at the end); its results take the places of `outputs`.
  Node* finish(Graph& graph, llvm::ArrayRef<Value*> outputs, Node* before);

 private:
  struct Input {
    Value* outside;
    IterationSpace::Axes axes;
    Value* inner;
  };
  struct Cheap {
    const Node* node;
    Node* twin;  // in the body
    IterationSpace::Axes axes;
  };
  Value* input(Value* outside, const IterationSpace::Axes& axes);
  Node* equal(const Node& node, llvm::ArrayRef<Value*> operands, const IterationSpace::Axes& axes) const;

  std::unique_ptr<Graph> graph_;
  std::vector<Input> inputs_;
  std::vector<Cheap> cheap_;
  llvm::DenseMap<Value*, Value*> map_;
};

}  // namespace smelt
