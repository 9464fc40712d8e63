#include "passes/graph/layout/assign_layout.h"

#include <fmt/format.h>

#include "ir/analysis/uses.h"
#include "ir/analysis/view.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/graph/layout/matmul_layouts.h"
#include "passes/graph/layout/overwrites.h"
#include "passes/graph/layout/part_in_place.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int64_t kPitchBytes = 16, kLongRow = 4096, kLongRowPitch = 64;

bool is_leaf_memory(const Node& node) {
  return node.is(Op::parameter) || node.is(Op::state) || node.is(Op::input) || node.is(Op::constant);
}

/// A place in which a value, or the part of it from `begin` along `axis`, should be computed.
struct Request {
  Layout layout;
  int64_t axis = -1;  // -1: the whole value
  Dim begin = 0, length = 0;
};

class Assigner {
 public:
  Assigner(Graph& graph, const AssignLayoutOptions& options)
      : graph_(graph), module_(graph.module()), options_(options), overwrites_(graph) {}

  bool run() {
    for (const auto& node : graph_.nodes())
      if (is_leaf_memory(*node)) node->result()->layout = leaf_layout(*node);
    for (const auto& node : graph_.nodes()) join_leaves(*node);
    for (const auto& node : llvm::reverse(graph_.nodes())) {
      for (const auto& result : node->results()) decide(*node, *result);
      ask(*node);
    }
    for (const auto& node : graph_.nodes()) {
      if (is_view(*node) && !node->result()->layout) look(*node);
      if (node->is(Op::gather)) node->result()->layout = layout_in_table(*node);
    }
    return true;
  }

 private:
  // ---- leaves

  Layout leaf_layout(const Node& node) {
    const Value* value = node.result();
    if (node.is(Op::input)) return dense(add_buffer(node.get(attr::name), Role::input, *value), *value);
    if (node.is(Op::constant)) return constant_layout(node);
    if (node.is(Op::state)) return dense(state_buffer(node.get(attr::name)), *value);
    const std::string& parameter = node.get(attr::name);
    const State* flat = module_.find_parameter_state(parameter, value->dtype());
    if (!flat)
      fail_with(Status::internal,
                "assign_layout: no flat state holds the parameter \"{}\" as {} (flatten_parameters)",
                parameter, smelt::name(value->dtype()));
    Layout layout = dense(state_buffer(flat->name), *value);
    layout.offset = find_segment(*flat, parameter)->offset;
    return layout;
  }

  Layout constant_layout(const Node& node) {
    const int index = add_buffer("constant", Role::constant, *node.result());
    Buffer& buffer = module_.buffers[index];
    for (double value : node.get(attr::values)) append_number(buffer, value);
    return dense(index, *node.result());
  }

  static void append_number(Buffer& buffer, double value) {
    const auto append = [&](auto number) {
      const auto* bytes = reinterpret_cast<const std::byte*>(&number);
      buffer.data.insert(buffer.data.end(), bytes, bytes + sizeof number);
    };
    switch (buffer.dtype) {
      case DType::f32:
        return append(static_cast<float>(value));
      case DType::i32:
        return append(static_cast<int32_t>(value));
      case DType::i64:
        return append(static_cast<int64_t>(value));
      case DType::boolean:
        return append(static_cast<uint8_t>(value != 0));
      default:
        fail("a constant table of {} has no place in a plan; use f32, i32, i64 or bool", name(buffer.dtype));
    }
  }

  int state_buffer(std::string_view name) {
    if (const int known = module_.buffer_of(name); known >= 0) return known;
    for (size_t i = 0; i < module_.states.size(); ++i) {
      if (module_.states[i].name != name) continue;
      const State& state = module_.states[i];
      Buffer buffer{.name = state.name,
                    .role = state.role,
                    .dtype = state.dtype,
                    .elements = element_count(state.shape)};
      buffer.state = static_cast<int>(i);
      module_.buffers.push_back(std::move(buffer));
      return static_cast<int>(module_.buffers.size()) - 1;
    }
    fail("state \"{}\" is not declared", name);
  }

  int add_buffer(std::string name, Role role, const Value& value) {
    Buffer buffer{.name = std::move(name),
                  .role = role,
                  .dtype = value.dtype(),
                  .elements = element_count(value.shape())};
    module_.buffers.push_back(std::move(buffer));
    return static_cast<int>(module_.buffers.size()) - 1;
  }

  static Layout dense(int buffer, const Value& value) { return {buffer, 0, dense_strides(value.shape())}; }

  /// Parts of one state that are adjacent need no memory for their concat: merged weights.
  void join_leaves(const Node& node) {
    if (is_view(node) && node.operand(0)->layout && (is_state_memory(*node.operand(0)->layout)))
      node.result()->layout = view_layout(node, *node.operand(0)->layout);
    if (!node.is(Op::concat)) return;
    const int64_t axis = node.get(attr::axis);
    const std::optional<Layout> first = node.operand(0)->layout;
    if (!first || !is_state_memory(*first)) return;
    Dim offset = first->offset;
    for (const Value* operand : node.operands()) {
      const Layout expected{first->buffer, offset, first->strides};
      if (operand->layout != expected) return;
      offset += operand->shape()[axis] * first->strides[axis];
    }
    node.result()->layout = first;
  }

  bool is_state_memory(const Layout& layout) const { return module_.buffers[layout.buffer].state >= 0; }

  /// A gather that is no part of a fusion stays in its table, for readers that follow its indices: these say
  /// where an element lies, and not the strides along their dims.
  static Layout layout_in_table(const Node& gather) {
    const Layout& table = *gather.operand(0)->layout;
    std::vector<Dim> strides(gather.operand(1)->shape().size());
    strides.insert(strides.end(), table.strides.begin() + 1, table.strides.end());
    return {table.buffer, table.offset, std::move(strides)};
  }

  // ---- from readers to writers

  void decide(const Node& node, Value& value) {
    if (value.layout || is_leaf_memory(node) || node.is(Op::gather)) return;
    auto& requests = requests_[&value];
    if (is_view(node)) {
      // The request is passed on to the node that computes the elements.
      for (const Request& request : requests) pass_on(node, request);
      return;
    }
    if (!may_be_placed(node))
      llvm::erase_if(requests, [&](const Request& request) { return !takes(node, request); });
    value.layout = common_place(value, requests);
    if (!value.layout && may_be_placed(node)) value.layout = place_of_part(value);
    if (!value.layout) value.layout = new_place(node, value);
  }

  /// The place of the part that the value is computed from; the whole of it is placed first.
  std::optional<Layout> place_of_part(const Value& value) {
    const auto part = part_in_place(value);
    if (!part || requests_.contains(part->whole)) return std::nullopt;
    std::optional<Layout>& whole = part->whole->layout;
    if (!whole) whole = new_place(*part->whole->node(), *part->whole);
    std::optional<Layout> place = whole;
    for (const Node* view : part->views)
      if (place) place = view_layout(*view, *place);
    return place;
  }

  void pass_on(const Node& view, const Request& request) {
    Value* operand = view.operand(0);
    if (request.axis >= 0) return;
    if (view.is(Op::slice)) {
      const int64_t axis = view.get(attr::axis);
      requests_[operand].push_back(
          {request.layout, axis, view.get(attr::begin), view.result()->shape()[axis]});
    } else if (auto layout = operand_layout(view, request.layout)) {
      requests_[operand].push_back({*layout});
    }
  }

  /// Results that the node writes freely, element by element.
  static bool may_be_placed(const Node& node) { return !node.is(Op::collective) && !is_of_order(node); }

  /// A collective writes dense memory, such as that of a state.
  static bool takes(const Node& node, const Request& request) {
    return node.is(Op::collective) && request.axis < 0 &&
           request.layout.strides == dense_strides(node.result()->shape());
  }

  static bool is_of_order(const Node& node) {
    return node.is(Op::scan) || node.is(Op::top_k) || node.is(Op::sample) || node.is(Op::dequantize);
  }

  /// One whole request, or requests for slices that together are the value and agree on where it starts.
  std::optional<Layout> common_place(const Value& value, llvm::ArrayRef<Request> requests) const {
    for (const Request& request : requests)
      if (request.axis < 0) return request.layout;
    std::optional<Layout> base;
    Dim covered = 0;
    for (const Request& request : requests) {
      Layout start = request.layout;
      start.offset = start.offset - request.begin * start.strides[request.axis];
      if (base && (*base != start || request.axis != requests[0].axis)) return std::nullopt;
      base = start;
      covered += request.length;
    }
    if (!base || covered != value.shape()[requests[0].axis]) return std::nullopt;
    return base;
  }

  Layout new_place(const Node& node, const Value& value) {
    const Role role = is_shown(value) ? Role::output : is_saved(node, value) ? Role::saved : Role::temporary;
    const int index = add_buffer(node.source, role, value);
    if (role == Role::output || value.rank() < 2 || is_compact(node, value)) return dense(index, value);
    if (auto strides = strides_behind_transpose(value)) return {index, 0, std::move(*strides)};
    const Dim pitch = row_pitch(value);
    Dim elements = pitch;
    for (const Dim& extent : llvm::ArrayRef(value.shape()).drop_back()) elements *= extent;
    module_.buffers[index].elements = elements;
    if (auto strides = matmul_strides(value, pitch)) return {index, 0, std::move(*strides)};
    return {index, 0, dense_strides(value.shape(), pitch)};
  }

  /// An output, or what an output shows in another shape: a dense buffer serves both if its rows need no gap.
  bool is_shown(const Value& value) const {
    if (graph_.is_output(&value)) return true;
    if (value.rank() > 0 && row_pitch(value) != value.shape().back()) return false;
    return llvm::any_of(value.users(), [&](const Node* user) {
      return user->is(Op::reshape) && graph_.is_output(user->result());
    });
  }

  /// Numbers a row of scores that kernels of attention alone read, transposed, lie as these want them.
  static std::optional<std::vector<Dim>> strides_behind_transpose(const Value& value) {
    const llvm::ArrayRef<Node*> users = value.users();
    if (!has_one_use(value) || !users.front()->is(Op::transpose)) return std::nullopt;
    const Node& transpose = *users.front();
    const Value& rows = *transpose.result();
    const auto is_gradient = [](const Node* user) { return user->is(Op::attention_grad); };
    if (!is_compact(transpose, rows) || !llvm::all_of(rows.users(), is_gradient)) return std::nullopt;
    return operand_layout(transpose, dense(-1, rows))->strides;
  }

  /// Numbers a row of scores, and sums of gradients: kernels of attention have no pitch for them, nor have
  /// those of scan, top_k and sample for what they make, nor collectives; segments lie as in their state.
  /// Integers may be a table of indices, of which check_indices wants to know all elements, gaps included.
  static bool is_compact(const Node& node, const Value& value) {
    if (!may_be_placed(node) || node.is(Op::pack) || value.dtype() == DType::i32) return true;
    if (node.is(Op::attention)) return value.index() == 1;
    if (node.is(Op::attention_grad)) return value.index() > 2;
    return value.rank() == 3 &&
           llvm::any_of(value.users(), [](const Node* user) { return user->is(Op::attention_grad); });
  }

  Dim row_pitch(const Value& value) const {
    const Dim& row = value.shape().back();
    if (row.constant() && *row.constant() >= kLongRow) return round_up(row, kLongRowPitch);
    const int64_t multiple = kPitchBytes / size_of(value.dtype());
    return multiple > 1 && !row.is_one() ? round_up(row, multiple) : row;
  }

  bool is_saved(const Node& node, const Value& value) const {
    if (!in_forward(node)) return false;
    llvm::SmallVector<const Value*, 8> stack = {&value};
    while (!stack.empty()) {
      for (const Node* user : stack.pop_back_val()->users()) {
        if (!in_forward(*user)) return true;
        if (is_view(*user)) stack.push_back(user->result());
      }
    }
    return false;
  }

  // ---- what a node asks of its operands

  void ask(const Node& node) {
    if (node.is(Op::concat)) ask_parts(node);
    if (node.is(Op::pack)) ask_segments(node);
    if (node.is(Op::update)) ask_in_state(node);
    for (const auto& result : node.results())
      if (Value* start = added_to(*result)) requests_[start].push_back({*result->layout});
  }

  void ask_parts(const Node& concat) {
    Layout part = *concat.result()->layout;
    const int64_t axis = concat.get(attr::axis);
    for (Value* operand : concat.operands()) {
      requests_[operand].push_back({part});
      part.offset += operand->shape()[axis] * part.strides[axis];
    }
  }

  void ask_segments(const Node& pack) {
    const State* flat = module_.find_state(pack.get(attr::state));
    if (!flat) fail("{}: state \"{}\" is not declared", pack.describe(), pack.get(attr::state));
    for (auto [operand, segment] : llvm::zip(pack.operands(), flat->segments)) {
      Layout part = *pack.result()->layout;
      part.offset += segment.offset;
      part.strides = dense_strides(operand->shape());
      requests_[operand].push_back({part});
    }
  }

  void ask_in_state(const Node& update) {
    if (update.operands().size() != 1) return;
    Value* value = update.operand(0);
    const Layout place = dense(state_buffer(update.get(attr::state)), *value);
    if (overwrites_.grant(*value, place)) requests_[value].push_back({place});
  }

  // ---- from writers to views

  void look(const Node& view) {
    const Value* operand = view.operand(0);
    view.result()->layout = view_layout(view, *operand->layout);
    if (view.result()->layout) return;
    view.result()->layout = new_place(view, *view.result());
    if (options_.log)
      options_.log->push_back(fmt::format("{}: {} of {} needs a copy", view.describe(),
                                          str(view.result()->type), str(operand->type)));
  }

  Graph& graph_;
  Module& module_;
  const AssignLayoutOptions& options_;
  Overwrites overwrites_;
  llvm::DenseMap<const Value*, std::vector<Request>> requests_;
};

}  // namespace

bool assign_layout(Graph& graph, const AssignLayoutOptions& options) {
  return Assigner(graph, options).run();
}

}  // namespace smelt
