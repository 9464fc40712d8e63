// The body (score_mod) of an attention node as a fusion over [b,h,t,s], which is lowered like any other
// fusion. The block arguments of the body, such as the score, and its results have numbers of buffers that do
// not exist, because they are not stored in memory.
#pragma once

#include "codegen/lowering/fusion_blocks.h"
#include "ir/graph/builder.h"

namespace smelt {

/// Return the number of the buffer of the block argument with a slot, and of an output.
constexpr int kFirstHanded = -2;
constexpr int handed_buffer(int slot) { return kFirstHanded - slot; }
constexpr int returned_buffer(int output) { return kFirstHanded - 100 - output; }

/// A fusion node with a copy of an attention node's body. The destructor erases it. Functions are called in
/// this order: `hand` for each block argument, copy_body, add_output for each output, finish.
class AttentionFusion {
 public:
  explicit AttentionFusion(const Node& node);
  ~AttentionFusion();
  AttentionFusion(const AttentionFusion&) = delete;

  /// Adds an input for the block argument with a slot, and returns its value in the copy. In the copy, it
  /// replaces `value` of the node's body, unless that is null.
  Value* hand(const Type& type, int slot, std::vector<Dim> strides, const Value* value = nullptr);
  void copy_body();
  /// Returns the value of the copy for a value of the node's body; null if it was not copied.
  Value* twin(const Value* value) const { return twins_.lookup(value); }
  /// Returns a builder that appends nodes to the copy.
  GraphBuilder& builder() { return b_; }
  /// Adds an output that is a value of the copy.
  void add_output(Value* value, std::vector<Dim> strides);
  /// Creates the fusion node and returns it. An additional last output is a sum of the outputs with the type
  /// of the first output. It makes values that are independent of each other follow the same axes.
  const Node& finish();

 private:
  void copy_arguments();
  void copy_nodes();
  void drop_unused();

  const Node& node_;
  Graph scratch_;
  std::unique_ptr<Graph> body_;
  GraphBuilder b_;
  llvm::DenseMap<const Value*, Value*> twins_;
  llvm::SmallVector<Value*, 8> operands_;
  std::vector<Layout> layouts_;  // of outputs
  Node* fusion_ = nullptr;
};

/// The gradients of the values that a body reads: the outputs of a gradient's body after the first two. Row
/// gradients are summed over keys, column gradients over queries, and element gradients over neither.
struct BodyGradients {
  struct One {
    const Value* per_score;            // the gradient before it is summed, [b,h,t,s], in the node's body
    const Value* result;               // of the node
    const std::vector<int64_t>* axes;  // axes of [b,h,t,s] that are summed; null: none
    /// Returns whether the gradient is summed over an axis.
    bool sums(int64_t axis) const;
  };
  std::vector<One> rows, columns, elements;

  explicit BodyGradients(const Node& node);
};

}  // namespace smelt
