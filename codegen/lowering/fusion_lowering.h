// One fusion on its way to a kernel.
//
//   lower_fusion.cpp         axes, params, blocks, reductions and stores; the steps
//   lower_fusion_values.cpp  what a block computes
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/lowering/program_builder.h"
#include "codegen/scheduling/schedule.h"
#include "ir/analysis/iteration_space.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

class FusionLowering {
 public:
  FusionLowering(ProgramBuilder& builder, const Node& fusion);
  void run();

 private:
  using Scope = KernelBlock::Scope;
  using Kind = Instruction::Kind;
  using Reduction = IterationSpace::Reduction;

  struct Partial {
    const Value* value;   // the reduce's result in the body
    const Value* result;  // of the fusion
    int param;
    Shape columns;  // what a chunk's slice holds
    int buffer = -1;
  };
  struct Store {
    const Value* value;
    const Value* result;
    int param;
  };

  // lower_fusion.cpp
  std::string fusion_name() const;
  void add_axes();
  std::string axis_name(AxisKind kind) const;
  void add_params();
  int add_param(const Value& value, bool output);
  const Value* partial_sum(const Value& value) const;
  Partial add_partial(const Value& value, const Value& result);
  void emit_level(int level);
  void store_last();
  int ready_level(const Value& value) const;
  bool has_segment() const;
  void drop_empty_blocks();
  bool is_column(const Value& value) const;
  const IterationSpace::Axes& axes_of(const Value& value) const;
  int append(int block, Instruction instruction);
  void reduce(const Node& node);
  void emit_reduce(const Node& node, const Value& operand);
  void accumulate(const Partial& partial, Reduction kind, const Value& operand);
  void append_behind(Scope scope, Instruction instruction);
  Access partial_access(const Partial& partial) const;
  void emit_store(const Store& store);
  Instruction store_instruction(const Store& store, int value) const;
  Access access(int param, const Layout& layout, const IterationSpace::Axes& axes) const;
  void keep_expensive_columns();
  bool sum_columns_at_once();
  void add_partial_buffers();
  void add_kernel_step();
  std::vector<std::pair<int, int>> in_place_pairs() const;
  bool can_alias(const Store& store, const Value& operand, int param) const;
  bool follows_rows(const Access& read, const Access& place) const;
  void finish_partials();

  // lower_fusion_values.cpp
  int column_value(const Value& value);
  std::optional<int> stored_value(const Value& value);
  int64_t splits() const { return partial_splits(builder_.target()); }
  int row_value(const Value& value);
  int sample(const Node& node);
  int value_at(const Value& value, int column);
  int operand_value(const Value& value, int block, int fixed);
  int compute(const Value& value, int block, int fixed);
  const Value* outside(const Node& input) const;
  bool is_column_axis(int axis) const { return kernel_.axes[axis].kind != AxisKind::parallel; }
  int load(DType dtype, Access access, int block, int fixed);
  void note_table(int param, const Dim& elements);
  int gather(const Node& node, int block, int fixed);
  bool is_innermost(int axis) const { return axis + 1 == static_cast<int>(kernel_.axes.size()); }
  int index(const Node& node, int block, int fixed);
  int random(const Node& node, int block, int fixed);
  int random_slot(const Node& node);

  ProgramBuilder& builder_;
  const Node& fusion_;
  const Graph& body_;
  mutable IterationSpace space_;
  Kernel kernel_;
  std::vector<int> axis_of_;  // of the space -> of the kernel
  std::vector<BufferRef> arguments_;
  llvm::DenseMap<const Value*, int> param_of_;
  std::vector<Store> stores_;
  std::vector<Partial> partials_;
  std::vector<uint32_t> random_ids_;
  int level_ = 0, row_ = 0, column_ = 0;  // the blocks at hand
  llvm::DenseMap<const Value*, int> row_values_, column_values_;
  llvm::DenseMap<std::pair<const Value*, int>, int> fixed_values_;  // by value and column
  llvm::DenseMap<const Value*, const Store*> stored_;
};

}  // namespace smelt
