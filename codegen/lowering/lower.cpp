#include "codegen/lowering/lower.h"

#include <fmt/format.h>

#include "codegen/lowering/program_builder.h"
#include "ir/analysis/state_reads.h"
#include "ir/analysis/view.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

class EntryLowering {
 public:
  EntryLowering(ProgramBuilder& builder, const Graph& graph) : builder_(builder), graph_(graph) {}

  void run() {
    builder_.begin_entry(graph_);
    for (const Node* input : graph_.inputs()) builder_.entry().inputs.push_back(input_port(*input));
    // Outputs and other states that show the old value of a state are copied before the state is written.
    std::vector<std::optional<Port>> ports;
    for (const Graph::Output& output : graph_.outputs)
      ports.push_back(shows_old_state(*output.value) ? std::optional(copied_output(output)) : std::nullopt);
    for (const auto& node : graph_.nodes())
      if (node->is(Op::update) && moves_content(graph_, *node)) copy_content(*node);
    for (const Node* node : lowering_order(graph_)) lower(*node);
    for (auto [output, early] : llvm::zip(graph_.outputs, ports))
      builder_.entry().outputs.push_back(early ? *early : lower_output(output));
  }

 private:
  static Port port(std::string name, const Value& value, int buffer) {
    return {.name = std::move(name), .dtype = value.dtype(), .shape = value.shape(), .buffer = buffer};
  }

  static Port input_port(const Node& input) {
    Port made = port(input.get(attr::name), *input.result(), input.result()->layout->buffer);
    made.optional = input.get(attr::optional);
    made.fill = input.has(attr::fill) ? input.get(attr::fill) : 0;
    made.ids = id_range(input);
    return made;
  }

  void lower(const Node& node) {
    builder_.set_origin(node);
    switch (node.op()) {
      case Op::fusion:
        return lower_fusion(builder_, node);
      case Op::matmul:
        return lower_matmul(builder_, node);
      case Op::attention:
        return lower_attention(builder_, node);
      case Op::attention_grad:
        return lower_attention_grad(builder_, node);
      case Op::scatter_add:
        return lower_scatter_add(builder_, node);
      case Op::scatter:
        return lower_scatter(builder_, node);
      case Op::scan:
        return lower_scan(builder_, node);
      case Op::top_k:
        return lower_top_k(builder_, node);
      case Op::sample:
        return lower_sample(builder_, node);
      case Op::dequantize:
        return lower_dequantize(builder_, node);
      case Op::collective:
        return lower_collective(builder_, node);
      case Op::concat:
        return lower_concat(node);
      case Op::pack:
        return lower_pack(node);
      case Op::update:
        return lower_update(node);
      case Op::reshape:
      case Op::transpose:
      case Op::slice:
      case Op::windows:
      case Op::broadcast:
      case Op::stop_gradient:
        return lower_view(node);
      case Op::parameter:
      case Op::state:
      case Op::input:
      case Op::constant:
      case Op::gather:  // its readers follow its indices
        return;
      default:
        fail_with(Status::internal, "lower: {} has no step; fuse and decompose come first", node.describe());
    }
  }

  void move(const Value& value, const Layout& to) { builder_.copy(*value.layout, to, value.shape(), value); }

  /// A view that lives elsewhere than its operand copies the elements, along the finer of the two shapes.
  void lower_view(const Node& node) {
    const Value &from = *node.operand(0), &to = *node.result();
    if (const auto expected = view_layout(node, *from.layout); expected) {
      if (expected->buffer != to.layout->buffer) builder_.copy(*expected, *to.layout, to.shape(), to);
      return;
    }
    const auto strides = reshape_strides(to.shape(), to.layout->strides, from.shape());
    if (strides)
      return builder_.copy(*from.layout, {to.layout->buffer, to.layout->offset, *strides}, from.shape(),
                           from);
    // Neither shape cuts the other: go through a dense copy, which every reshape can look at.
    const int dense =
        builder_.add_buffer(node.source, Role::temporary, from.dtype(), element_count(from.shape()));
    builder_.copy(*from.layout, {dense, 0, dense_strides(from.shape())}, from.shape(), from);
    builder_.copy({dense, 0, dense_strides(to.shape())}, *to.layout, to.shape(), to);
  }

  void lower_concat(const Node& node) {
    Layout part = *node.result()->layout;
    const int64_t axis = node.get(attr::axis);
    for (const Value* operand : node.operands()) {
      move(*operand, part);
      part.offset += operand->shape()[axis] * part.strides[axis];
    }
  }

  void lower_pack(const Node& node) {
    const State& flat = *graph_.module().find_state(node.get(attr::state));
    const Layout& whole = *node.result()->layout;
    // The state's own padding is zero from the start; a temporary's is not.
    const bool fresh = !is_state(*node.result());
    int64_t end = 0;
    for (auto [operand, segment] : llvm::zip(node.operands(), flat.segments)) {
      if (fresh) fill_gap(whole, end, segment.offset);
      move(*operand, {whole.buffer, whole.offset + segment.offset, dense_strides(operand->shape())});
      end = segment.offset + segment.elements();
    }
    if (fresh) fill_gap(whole, end, *element_count(node.result()->shape()).constant());
  }

  void fill_gap(const Layout& whole, int64_t begin, int64_t end) {
    if (begin < end) builder_.fill(whole.buffer, whole.offset + begin, end - begin, 0);
  }

  void lower_update(const Node& node) {
    if (node.operands().size() != 1)
      fail_with(Status::internal, "{}: decompose makes it an insert first", node.describe());
    const Value& value = *node.operand(0);
    const int buffer = graph_.module().buffer_of(node.get(attr::state));
    if (buffer < 0) fail_with(Status::internal, "{}: the state has no memory", node.describe());
    const Layout place{buffer, 0, dense_strides(value.shape())};
    if (const auto copy = contents_.find(&node); copy != contents_.end())
      builder_.copy(copy->second, place, value.shape(), value);
    else
      move(value, place);
  }

  bool is_state(const Value& value) const {
    return value.layout && builder_.buffer(value.layout->buffer).state >= 0;
  }
  bool shows_old_state(const Value& value) const { return is_state(value) && is_old_content(value); }

  void copy_content(const Node& update) {
    const Value& value = *update.operand(0);
    builder_.set_origin(update);
    const int buffer =
        builder_.add_buffer(update.source, Role::temporary, value.dtype(), element_count(value.shape()));
    const Layout copy{buffer, 0, dense_strides(value.shape())};
    builder_.copy(*value.layout, copy, value.shape(), value);
    contents_[&update] = copy;
  }

  /// Outputs are dense buffers of their own.
  Port lower_output(const Graph::Output& output) {
    const Value& value = *output.value;
    const Layout dense{value.layout->buffer, 0, dense_strides(value.shape())};
    const int buffer = value.layout->buffer;
    const bool taken =
        llvm::any_of(builder_.entry().outputs, [&](const Port& port) { return port.buffer == buffer; });
    if (builder_.buffer(buffer).role != Role::output || taken ||
        !is_same_place(*value.layout, dense, value.shape()))
      return copied_output(output);
    return port(output.name, value, buffer);
  }

  Port copied_output(const Graph::Output& output) {
    const Value& value = *output.value;
    const int buffer =
        builder_.add_buffer(output.name, Role::output, value.dtype(), element_count(value.shape()));
    builder_.set_origin(*value.node());
    builder_.copy(*value.layout, {buffer, 0, dense_strides(value.shape())}, value.shape(), value);
    return port(output.name, value, buffer);
  }

  ProgramBuilder& builder_;
  const Graph& graph_;
  llvm::DenseMap<const Node*, Layout> contents_;  // copies of what updates take from other states
};

}  // namespace

Program lower(const Module& module, const Target& target) {
  ProgramBuilder builder(module, target);
  for (const auto& graph : module.graphs) EntryLowering(builder, *graph).run();
  return builder.take();
}

}  // namespace smelt
