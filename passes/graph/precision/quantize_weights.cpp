#include "passes/graph/precision/quantize_weights.h"

#include <algorithm>
#include <set>

#include "ir/graph/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/expressions.h"
#include "passes/graph/precision/flat_weights.h"
#include "passes/graph/training/flatten_parameters.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

Segment scales_segment(const Segment& weight) {
  Segment scales;
  scales.name = weight.name, scales.shape.assign(weight.shape.begin(), weight.shape.end() - 1);
  scales.decay = false, scales.frozen = true;
  if (weight.cut.empty()) return scales;
  scales.cut.assign(weight.cut.begin(), weight.cut.end() - 1);
  if (llvm::all_of(scales.cut, [](const auto& axes) { return axes.empty(); }))
    scales.cut.clear();
  else
    scales.whole.assign(weight.whole.begin(), weight.whole.end() - 1);
  return scales;
}

void move_segments(Module& module, const std::set<std::string>& names) {
  State& flat = *module.find_state(state_of_weights(module));
  FlatState floats(flat.name, flat.dtype), bytes(std::string(kQuantizedParameters), DType::i8),
      scales(std::string(kQuantizedScales), DType::f32);
  const Segment* before = nullptr;
  for (const Segment& segment : flat.segments) {
    const bool taken = names.count(segment.name) != 0;
    const bool follows = before && before->offset + before->elements() == segment.offset &&
                         taken == (names.count(before->name) != 0);
    (taken ? bytes : floats).append(segment, follows);
    if (taken) scales.append(scales_segment(segment), follows);
    before = &segment;
  }
  State of_scales = scales.finished();
  of_scales.scales_of = kQuantizedParameters;
  flat = floats.finished();
  module.states.push_back(bytes.finished());
  module.states.push_back(std::move(of_scales));
}

/// Returns the bytes of activations that a convert node made floats of; null where there are none.
Value* bytes_behind(const Value* activations) {
  const Node& node = *activations->node();
  const bool widens = node.is(Op::convert) && node.operand(0)->dtype() == DType::i8;
  return widens ? node.operand(0) : nullptr;
}

/// Returns the names of the weights that activations other than bytes multiply.
std::set<std::string> multiplied_by_floats(const Module& module) {
  std::set<std::string> names;
  for (const auto& graph : module.graphs)
    for (Node* matmul : nodes_of(*graph, Op::matmul))
      for (const unsigned side : {0u, 1u})
        if (!bytes_behind(matmul->operand(1 - side)))
          for (const Node* part : parts_of(*matmul->operand(side)))
            if (part->is(Op::parameter)) names.insert(part->get(attr::name));
  return names;
}

class Rewriter {
 public:
  Rewriter(Graph& graph, const std::set<std::string>& names, bool in_place)
      : graph_(graph), names_(names), in_place_(in_place) {}

  void run() {
    for (Node* matmul : nodes_of(graph_, Op::matmul))
      for (unsigned side : {0u, 1u})
        if (!matmul->body && is_weight(*matmul->operand(side))) {
          multiply(*matmul, side);
          break;  // another node replaces it
        }
    for (Node* gather : nodes_of(graph_, Op::gather))
      if (is_weight(*gather->operand(0))) read_rows(*gather);
    graph_.prune();
  }

 private:
  bool is_weight(const Value& value) const {
    const Node& node = *value.node();
    if (value.dtype() != DType::f32) return false;
    if (node.is(Op::parameter)) return names_.count(node.get(attr::name)) != 0;
    return node.is(Op::concat) && stacks(node) && is_weight(*node.operand(0));
  }

  static Value* bytes(GraphBuilder& b, const Value& weight) {
    llvm::SmallVector<Value*, 4> values;
    for (const Node* part : parts_of(weight)) {
      const Type type{DType::i8, part->result()->shape()};
      values.push_back(b.create(Op::parameter, {}, {attr::name(part->get(attr::name))}, type)->result());
    }
    return stacked(b, values);
  }

  static Value* scales(GraphBuilder& b, const Value& weight) {
    const State& state = *b.module().find_state(kQuantizedScales);
    Value* all = b.state(kQuantizedScales);
    llvm::SmallVector<Value*, 4> values;
    for (const Node* part : parts_of(weight)) {
      const auto at =
          llvm::find_if(state.segments, [&](const Segment& s) { return s.name == part->get(attr::name); });
      Value* rows = b.slice(all, 0, at->offset, at->elements());
      const Shape& shape = part->result()->shape();
      values.push_back(shape.size() == 2 ? rows : b.reshape(rows, Shape(shape.begin(), shape.end() - 1)));
    }
    return stacked(b, values);
  }

  void multiply(Node& matmul, unsigned side) {
    graph_.replace_all_uses(matmul.result(), scaled_product(matmul, side));
    graph_.erase(&matmul);
  }

  Value* scaled_product(Node& matmul, unsigned side) {
    GraphBuilder b(graph_, &matmul);
    const InheritMarks marks(graph_, &matmul, matmul);
    b.set_source(matmul.source);
    const Value& weight = *matmul.operand(side);
    Value* operands[2] = {matmul.operand(0), matmul.operand(1)};
    operands[side] = bytes(b, weight);
    Value* product = product_of(b, matmul, operands, side);
    Value* factors = b.broadcast(scales(b, weight), *output_axes(matmul, side), product->shape());
    return b.mul(product, factors);
  }

  Value* product_of(GraphBuilder& b, const Node& matmul, Value* (&operands)[2], unsigned side) const {
    const std::string& spec = matmul.get(attr::spec);
    if (Value* activations = bytes_behind(operands[1 - side])) {
      operands[1 - side] = activations;
      return b.convert(b.matmul(operands[0], operands[1], spec), DType::f32);
    }
    if (!in_place_) operands[side] = b.convert(operands[side], DType::f32);
    return b.create(Op::matmul, operands, {attr::spec(spec), attr::result("f32")})->result();
  }

  void read_rows(Node& gather) {
    graph_.replace_all_uses(gather.result(), scaled_rows(gather));
    graph_.erase(&gather);
  }

  Value* scaled_rows(Node& gather) {
    GraphBuilder b(graph_, &gather);
    const InheritMarks marks(graph_, &gather, gather);
    b.set_source(gather.source);
    const Value& weight = *gather.operand(0);
    Value* rows = b.convert(b.gather(bytes(b, weight), gather.operand(1)), DType::f32);
    Value* factors = b.gather(scales(b, weight), gather.operand(1));
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < factors->rank(); ++i) axes.push_back(i);
    return b.mul(rows, b.broadcast(factors, axes, rows->shape()));
  }

  Graph& graph_;
  const std::set<std::string>& names_;
  bool in_place_;
};

}  // namespace

bool quantize_weights(Module& module, const QuantizeWeightsOptions& options) {
  if (module.parameters.empty() || module.find_state(kQuantizedParameters)) return false;
  flat_parameters(module);
  if (parameter_copy(module)) fail("quantize_weights: parameters have f32 masters, which training updates");
  const std::set<std::string> names =
      options.by_bytes
          ? multiplied_weights(module, state_of_weights(module), {}, multiplied_by_floats(module))
          : multiplied_weights(module, state_of_weights(module), {.tables = true});
  if (names.empty()) return false;
  move_segments(module, names);
  for (const auto& graph : module.graphs) Rewriter(*graph, names, options.in_place).run();
  return true;
}

}  // namespace smelt
