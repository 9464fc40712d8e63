// FusionKernel: the kernel that a fusion is lowered to. Its constructor defines the axes and the parameters;
// instructions are then appended to its blocks.
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
  int param;            // the kernel's parameter for the output
};

/// Returns the type of the partial sums of `sum`: f32 if the sum is a float narrower than f32, else the sum's
/// type.
inline DType partial_type(const Value& sum) {
  return is_float(sum.dtype()) && size_of(sum.dtype()) < size_of(DType::f32) ? DType::f32 : sum.dtype();
}

/// An output that is a sum over rows. The kernel stores one partial sum per chunk of rows.
struct FusionSum {
  const Value* value;   // the reduce's result in the body, which has the shape of one partial sum
  const Value* result;  // of the fusion
  int param;            // the kernel's parameter for the partial sums
};

class FusionKernel {
 public:
  FusionKernel(const ProgramBuilder& builder, const Node& fusion);

  const Node& fusion() const { return fusion_; }
  const Graph& body() const { return body_; }
  const IterationSpace& space() const { return space_; }

  // ---- axes of the values of the body

  /// Returns whether the value changes along a column axis or a reduced axis of the kernel.
  bool is_column(const Value& value) const;
  const IterationSpace::Axes& axes_of(const Value& value) const;
  /// Returns the axis of the kernel that iterates over a dim of a value of the body.
  int axis_of(const Value& value, size_t dim) const { return axis_of_[axes_of(value)[dim]]; }
  bool is_column_axis(int axis) const { return kernel.axes[axis].kind != AxisKind::parallel; }
  bool is_innermost(int axis) const { return axis + 1 == static_cast<int>(kernel.axes.size()); }
  /// Returns the parameter for an input of the body. Returns -1 for an input that is only the destination of
  /// `insert` ops, because the kernel writes to it and does not read it.
  int param_of(const Value& input) const {
    const auto found = param_of_.find(&input);
    return found == param_of_.end() ? -1 : found->second;
  }
  /// Returns the operand of the fusion node that an input of the body stands for.
  const Value& outside(const Node& input) const;
  /// Returns the access to the current element of a parameter. Dim i of the parameter has the stride
  /// strides[i]. The element's index along dim i is the current index along the axis axes[i] of the iteration
  /// space, or 0 if axes[i] is -1.
  Access access(int param, llvm::ArrayRef<Dim> strides, const IterationSpace::Axes& axes) const;
  Access access(const FusionStore& store) const;

  /// Appends an instruction to a block and returns the instruction's number. The instruction's origin is set
  /// by the FromNode (see below) that was created last and still exists.
  int append(int block, Instruction instruction);

  Kernel kernel;
  /// One per parameter. Arguments of partial sums are empty until a buffer is allocated for them.
  std::vector<BufferRef> arguments;
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
  std::vector<int> axis_of_;  // axis of space_ -> axis of the kernel
  llvm::DenseMap<const Value*, int> param_of_;
  llvm::DenseMap<const Node*, int> place_of_;  // index of each node in reading_order(body_)
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
