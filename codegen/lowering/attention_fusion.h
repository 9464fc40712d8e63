// The body of an attention as a fusion over [b,h,t,s], which is lowered like any other: what the body is
// handed and what it returns lies in buffers that no memory stands behind.
#pragma once

#include "codegen/lowering/fusion_blocks.h"
#include "ir/builder.h"

namespace smelt {

/// The buffer of what is handed in a slot, and that of an output.
constexpr int kFirstHanded = -2;
constexpr int handed_buffer(int slot) { return kFirstHanded - slot; }
constexpr int returned_buffer(int output) { return kFirstHanded - 100 - output; }

/// A fusion with a copy of the node's body, erased at the end. First inputs are made for what is handed, then
/// the body is copied, then outputs are added.
class AttentionFusion {
 public:
  explicit AttentionFusion(const Node& node);
  ~AttentionFusion();
  AttentionFusion(const AttentionFusion&) = delete;

  /// An input that lies in a slot; it stands for `value` of the body, where there is one.
  Value* hand(const Type& type, int slot, std::vector<Dim> strides, const Value* value = nullptr);
  void copy_body();
  /// What a value of the body is in the copy.
  Value* twin(const Value* value) const { return twins_.lookup(value); }
  /// Writes behind the copy.
  GraphBuilder& builder() { return b_; }
  /// The next output.
  void add_output(Value* value, std::vector<Dim> strides);
  /// The last output ties the others together: what is computed apart follows the same axes.
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

/// The returned values of a gradient's body behind the first two, in the order of rows, columns and elements.
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
