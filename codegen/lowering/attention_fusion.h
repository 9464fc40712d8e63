// The body (score_mod) of an attention node as a fusion over [b,h,t,s] (batch, head, query, key), which is
// lowered like any other fusion. The lowering identifies a value in memory by the number of its buffer. The
// block arguments of the body, such as the score, and the body's results are not stored in memory. They have
// negative numbers, which the functions below return.
#pragma once

#include "codegen/lowering/fusion_blocks.h"
#include "ir/graph/builder.h"

namespace smelt {

constexpr int kFirstHanded = -2;
/// Returns the negative number of the block argument in slot `slot`. Slots are counted from 0.
constexpr int handed_buffer(int slot) { return kFirstHanded - slot; }
/// Returns the negative number of output `output` of the body. Requires: slots are below 100.
constexpr int returned_buffer(int output) { return kFirstHanded - 100 - output; }

/// A fusion node with a copy of an attention node's body. The destructor erases the fusion node. Functions
/// are called in this order: `hand` for each block argument, copy_body, add_output for each output, finish.
class AttentionFusion {
 public:
  explicit AttentionFusion(const Node& node);
  ~AttentionFusion();
  AttentionFusion(const AttentionFusion&) = delete;

  /// Adds an input for the block argument in slot `slot`, and returns the input's value in the copy. In the
  /// copy, this input replaces `value`, a value of the node's body; null: it replaces no value. `strides`:
  /// the input's stride along each dim of `type`, in elements.
  Value* hand(const Type& type, int slot, std::vector<Dim> strides, const Value* value = nullptr);
  /// Copies the nodes of the body to the fusion. The inputs that `hand` added replace values of the body.
  void copy_body();
  /// Returns the value of the copy for a value of the node's body; null if it was not copied.
  Value* twin(const Value* value) const { return twins_.lookup(value); }
  /// Returns a builder that appends nodes to the copy.
  GraphBuilder& builder() { return b_; }
  /// Adds `value`, a value of the copy, to the outputs.
  void add_output(Value* value, std::vector<Dim> strides);
  /// Creates the fusion node and returns it. The node has an additional last output: the sum of all outputs
  /// that have the type of the first one. This sum connects the outputs, so that all of them are assigned to
  /// the same axes of the kernel.
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

/// The gradients of the values that the body of an attention reads. They are the outputs from number 2 on in
/// the body of an attention_grad node. Row gradients are summed over keys, column gradients over queries, and
/// element gradients over neither.
struct BodyGradients {
  struct One {
    const Value* per_score;            // the gradient before it is summed, [b,h,t,s], in the node's body
    const Value* result;               // the node's result that is the gradient
    const std::vector<int64_t>* axes;  // axes of [b,h,t,s] that are summed; null: none
    /// Returns whether the gradient is summed over an axis.
    bool sums(int64_t axis) const;
  };
  std::vector<One> rows, columns, elements;

  explicit BodyGradients(const Node& node);
};

}  // namespace smelt
