// The Program under construction: buffers, shared kernels and the steps of the current entry.
#pragma once

#include <optional>
#include <string>

#include "ir/analysis/index_ranges.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// The random draws of a kernel's step, by slot.
struct RandomDraws {
  std::vector<uint32_t> ids;
  std::vector<RandomPart> parts;

  /// The slot of a random node's draw.
  int slot_of(const Node& random);
  /// Sets random_ids and, where there are any, random_parts.
  void give_to(KernelStep& step) const;
};

class ProgramBuilder {
 public:
  ProgramBuilder(const Module& module, Target target);

  const Symbols& symbols() const { return program_.symbols; }
  const Target& target() const { return target_; }
  void begin_entry(const Graph& graph);
  PlanEntry& entry() { return program_.entries.back(); }
  /// Names and phase of the node that the following steps come from.
  void set_origin(const Node& node);

  int add_buffer(std::string name, Role role, DType dtype, Dim elements);
  const Buffer& buffer(int index) const { return program_.buffers[index]; }
  /// The number of an equal kernel that is already there, else of this one. `arguments` are what it will be
  /// launched with: on a GPU its code depends on how they are aligned.
  int add_kernel(Kernel kernel, const std::vector<BufferRef>& arguments);
  /// Bytes that an argument's address is a multiple of, at most those of the widest access.
  int64_t alignment(const BufferRef& argument) const;
  /// Appends a step with the buffers that it reads and writes.
  Step& add_step(AnyStep what, std::vector<int> reads, std::vector<int> writes);
  /// Appends a step of any kind but a kernel's; the roles of its operands determine its reads and writes.
  Step& add_step(AnyStep what);

  /// Steps between these are a choice (PlanEntry::choices). Nothing is left to choose where there is one
  /// alternative, or where one overwrites what others read: the first then stays.
  void begin_choice();
  void begin_alternative(std::string name);
  /// The last alternative is for the sizes of the rule.
  void take_last_where(SizeRule rule);
  void end_choice();

  /// Returns the bounds of integers of the current entry; nothing where they may have any value.
  std::optional<IndexBounds> indices(const Value& value) const;
  /// Copies `value`, or a part of it, from the layout `from`.
  void copy(const Layout& from, const Layout& to, const Shape& shape, const Value& value);
  void fill(int buffer, Dim offset, Dim elements, double value);

  Program take() { return std::move(program_); }

 private:
  Program program_;
  Target target_;
  std::optional<IndexRanges> ranges_;  // of the entry at hand
  std::optional<Choice> choice_;       // that is open, of the steps from here on
  size_t choice_begin_ = 0;
  std::vector<std::string> sources_;
  std::string phase_;
  bool recomputed_ = false;
};

/// Lowerings of the node kinds.
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
void lower_collective(ProgramBuilder& builder, const Node& collective);
/// The layout of a dense copy made here.
Layout dense_copy(ProgramBuilder& builder, const Value& value, const std::string& source);
/// Returns whether `count` dims from `axis` on can be traversed like one, with the stride of the last.
bool lies_evenly(const Shape& shape, const std::vector<Dim>& strides, int64_t axis, int64_t count);
/// A copy between two strided places as a kernel.
void copy_by_kernel(ProgramBuilder& builder, const Layout& from, const Layout& to, const Shape& shape,
                    const Value& value);

}  // namespace smelt
