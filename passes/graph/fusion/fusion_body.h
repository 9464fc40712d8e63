// Builder of a fusion's body from the nodes that it will hold.
#pragma once

#include <memory>
#include <vector>

#include "ir/analysis/iteration_space.h"
#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Has one body input per outside value and mapping of its dims to axes.
class FusionBody {
 public:
  explicit FusionBody(Module& module) : graph_(std::make_unique<Graph>(module)) {}

  /// Adds the next node in program order. A cheap node is added once for all readers that follow the same
  /// axes.
  void add(const Node& node, const IterationSpace& space, bool is_cheap);
  /// Makes the fusion before `before` (null: at the end); its results replace `outputs`.
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
