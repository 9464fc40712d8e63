// ProgramBuilder: a Program under construction, with its buffers, shared kernels and the steps of the current
// entry; and the functions that lower each kind of node.
#pragma once

#include <optional>
#include <string>

#include "ir/analysis/index_ranges.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// The random draws of a kernel's step. Instruction::slot is an index into `ids`, and so selects the draw of
/// an instruction.
struct RandomDraws {
  std::vector<uint32_t> ids;
  std::vector<RandomPart> parts;  // one per id; RandomPart{}: the draw is not a part of a larger draw

  /// Returns the slot of the draw of a random node. Adds the draw if it has no slot yet.
  int slot_of(const Node& random);
  /// Sets KernelStep::random_ids and, if any draw is a part of a larger draw, KernelStep::random_parts.
  void give_to(KernelStep& step) const;
};

class ProgramBuilder {
 public:
  ProgramBuilder(const Module& module, Target target);

  const Symbols& symbols() const { return program_.symbols; }
  const Target& target() const { return target_; }
  /// Appends an empty entry with the graph's name. The functions below append to the last entry.
  void begin_entry(const Graph& graph);
  PlanEntry& entry() { return program_.entries.back(); }
  /// Sets the node that the following steps are lowered from. The steps get the node's source names and
  /// phase.
  void set_origin(const Node& node);

  /// Returns the number of the new buffer.
  int add_buffer(std::string name, Role role, DType dtype, Dim elements);
  const Buffer& buffer(int index) const { return program_.buffers[index]; }
  /// Adds a kernel, unless the program already has an equal one, and returns the kernel's number.
  /// `arguments`: those of a step that runs the kernel; on a GPU, the code depends on their alignment.
  int add_kernel(Kernel kernel, const std::vector<BufferRef>& arguments);
  /// Returns the alignment, in bytes, that the argument's address has for all sizes; at most 16, the size of
  /// the widest access.
  int64_t alignment(const BufferRef& argument) const;
  /// Appends a step. `reads`, `writes`: numbers of the buffers that it reads and writes.
  Step& add_step(AnyStep what, std::vector<int> reads, std::vector<int> writes);
  /// Appends a step of any kind but KernelStep. The roles of its operands determine its reads and writes.
  Step& add_step(AnyStep what);

  /// Begins a choice (PlanEntry::choices), which is a list of variants of the same work. Every variant begins
  /// with begin_alternative, and its steps follow.
  void begin_choice();
  void begin_alternative(std::string name);
  /// Makes the last variant of the open choice run if, and only if, the sizes satisfy the rule.
  void take_last_where(SizeRule rule);
  /// Ends the choice. If there is only one variant, its steps stay, without a choice. If a variant overwrites
  /// a buffer that any of the variants reads as input, only the steps of the first variant stay, without a
  /// choice. The runtime measures variants by running them repeatedly, which is impossible in this case.
  void end_choice();

  /// Returns the bounds of the integers in `value`, a value of the current entry. Returns nothing for floats
  /// and booleans, and for integers that have no known bounds narrower than those of i32.
  std::optional<IndexBounds> indices(const Value& value) const;
  /// Appends a step that copies `shape` elements of `value` from the layout `from` to the layout `to`, unless
  /// both are the same place.
  void copy(const Layout& from, const Layout& to, const Shape& shape, const Value& value);
  /// Appends a step that sets `elements` elements from `offset` on to `value`.
  void fill(int buffer, Dim offset, Dim elements, double value);

  Program take() { return std::move(program_); }

 private:
  Program program_;
  Target target_;
  std::optional<IndexRanges> ranges_;  // of the integers of the current entry
  std::optional<Choice> choice_;       // the open choice, if any
  size_t choice_begin_ = 0;            // index of the first step of choice_
  std::vector<std::string> sources_;
  std::string phase_;
  bool recomputed_ = false;
};

/// Append the steps of a node. There is one function per kind of node.
void lower_fusion(ProgramBuilder& builder, const Node& fusion);
void lower_matmul(ProgramBuilder& builder, const Node& matmul);
void lower_attention(ProgramBuilder& builder, const Node& attention);
void lower_attention_grad(ProgramBuilder& builder, const Node& gradient);
void lower_attention_by_blocks(ProgramBuilder& builder, const Node& attention);
void lower_attention_grad_by_blocks(ProgramBuilder& builder, const Node& gradient);
void lower_scatter_add(ProgramBuilder& builder, const Node& scatter);
void lower_scatter(ProgramBuilder& builder, const Node& scatter);
void lower_scan(ProgramBuilder& builder, const Node& scan);
void lower_top_k(ProgramBuilder& builder, const Node& top_k);
void lower_sample(ProgramBuilder& builder, const Node& sample);
void lower_dequantize(ProgramBuilder& builder, const Node& dequantize);
void lower_collective(ProgramBuilder& builder, const Node& collective);
/// Copies `value` to a new, dense temporary buffer with the name `source`. Returns the layout of the copy.
Layout dense_copy(ProgramBuilder& builder, const Value& value, const std::string& source);
/// Returns whether the `count` dims from `axis` on can be traversed like one dim that has the stride of the
/// last of these dims.
bool lies_evenly(const Shape& shape, const std::vector<Dim>& strides, int64_t axis, int64_t count);
/// Does the same as ProgramBuilder::copy for layouts that are not both dense, on a target whose copy steps
/// copy only matrices whose columns become rows: all others are copied by a kernel of the program.
void copy_strided(ProgramBuilder& builder, const Layout& from, const Layout& to, const Shape& shape,
                  const Value& value);

}  // namespace smelt
