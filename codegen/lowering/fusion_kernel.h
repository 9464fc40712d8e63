// The kernel that a fusion becomes, under construction: its axes and parameters are there from the start,
// and code is appended to its blocks.
#pragma once

#include <string>
#include <vector>

#include "codegen/lowering/program_builder.h"
#include "ir/analysis/iteration_space.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// An output that the kernel stores element by element.
struct FusionStore {
  const Value* value;   // in the body
  const Value* result;  // of the fusion
  int param;
};

/// The type of a sum's parts, which are f32 where the sum is of 16 bits.
inline DType partial_type(const Value& sum) {
  return is_float(sum.dtype()) && size_of(sum.dtype()) < size_of(DType::f32) ? DType::f32 : sum.dtype();
}

/// An output that is a sum over rows, of which the kernel makes one part a chunk.
struct FusionSum {
  const Value* value;   // the reduce's result in the body; its shape is what a chunk's slice holds
  const Value* result;  // of the fusion
  int param;
};

class FusionKernel {
 public:
  FusionKernel(const ProgramBuilder& builder, const Node& fusion);

  const Node& fusion() const { return fusion_; }
  const Graph& body() const { return body_; }
  const IterationSpace& space() const { return space_; }

  // Axes of the values of the body.
  bool is_column(const Value& value) const;
  const IterationSpace::Axes& axes_of(const Value& value) const;
  /// The kernel's axis that a dim of a value of the body follows.
  int axis_of(const Value& value, size_t dim) const { return axis_of_[axes_of(value)[dim]]; }
  bool is_column_axis(int axis) const { return kernel.axes[axis].kind != AxisKind::parallel; }
  bool is_innermost(int axis) const { return axis + 1 == static_cast<int>(kernel.axes.size()); }
  /// -1 where an insert puts something into it and nothing reads it.
  int param_of(const Value& input) const {
    const auto found = param_of_.find(&input);
    return found == param_of_.end() ? -1 : found->second;
  }
  /// Returns the fusion's operand for an input of the body.
  const Value& outside(const Node& input) const;
  /// An element of a parameter whose dims follow `axes` of the iteration space.
  Access access(int param, llvm::ArrayRef<Dim> strides, const IterationSpace::Axes& axes) const;
  Access access(const FusionStore& store) const;

  /// The instruction's number. It comes from the node of the innermost FromNode.
  int append(int block, Instruction instruction);

  Kernel kernel;
  std::vector<BufferRef> arguments;  // one a parameter; those of sums are empty until they have a place
  std::vector<FusionStore> stores;
  std::vector<FusionSum> sums;

 private:
  friend class FromNode;
  std::string name() const;
  void add_axes();
  std::string axis_name(AxisKind kind) const;
  static bool is_inserted_into(const Value& input);
  void add_params(const ProgramBuilder& builder);
  static Dim table_elements(const Value& input, const Value& operand);
  int add_input(const Value& input, const Value& operand, const std::optional<IndexBounds>& indices);
  int add_param(const Value& value, bool output, const std::optional<IndexBounds>& indices);
  const Value* chunked_sum(const Value& value) const;
  void add_sum(const Value& value, const Value& result);

  const Node& fusion_;
  const Graph& body_;
  const IterationSpace space_;
  std::vector<int> axis_of_;  // of the space -> of the kernel
  llvm::DenseMap<const Value*, int> param_of_;
  llvm::DenseMap<const Node*, int> place_of_;  // of nodes, in reading_order
  Origin origin_;
};

/// During its lifetime, instructions that are appended to the kernel have this node of the body as their
/// origin.
class FromNode {
 public:
  FromNode(FusionKernel& fusion, const Node& node) : fusion_(fusion), before_(fusion.origin_) {
    fusion.origin_ = {fusion.place_of_.lookup(&node)};
  }
  ~FromNode() { fusion_.origin_ = before_; }
  FromNode(const FromNode&) = delete;

 private:
  FusionKernel& fusion_;
  const Origin before_;
};

}  // namespace smelt
