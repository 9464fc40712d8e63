// The body of an attention as a fusion over [b,h,t,s], which is lowered like any other fusion. The block
// arguments and the results of the body are buffers without memory.
#pragma once

#include "codegen/lowering/fusion_blocks.h"
#include "ir/graph/builder.h"

namespace smelt {

/// Returns the buffer of the block argument of a slot, and that of an output.
constexpr int kFirstHanded = -2;
constexpr int handed_buffer(int slot) { return kFirstHanded - slot; }
constexpr int returned_buffer(int output) { return kFirstHanded - 100 - output; }

/// A fusion with a copy of the node's body, erased at the end. First inputs are added for block arguments,
/// then the body is copied, then outputs are added.
class AttentionFusion {
 public:
  explicit AttentionFusion(const Node& node);
  ~AttentionFusion();
  AttentionFusion(const AttentionFusion&) = delete;

  /// Adds a block argument at a slot; it replaces `value` of the body, where there is one.
  Value* hand(const Type& type, int slot, std::vector<Dim> strides, const Value* value = nullptr);
  void copy_body();
  /// Returns the value of the copy for a value of the body.
  Value* twin(const Value* value) const { return twins_.lookup(value); }
  /// Returns a builder that appends to the copy.
  GraphBuilder& builder() { return b_; }
  /// The next output.
  void add_output(Value* value, std::vector<Dim> strides);
  /// Finishes the fusion. Its last output ties the others together, so that independent values follow the
  /// same axes.
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

/// The results of a gradient's body after the first two, in the order of rows, columns and elements.
struct BodyGradients {
  struct One {
    const Value* per_score;
    const Value* result;               // of the node
    const std::vector<int64_t>* axes;  // that are summed; null: none
    bool sums(int64_t axis) const;
  };
  std::vector<One> rows, columns, elements;

  explicit BodyGradients(const Node& node);
};

}  // namespace smelt
