#include "passes/graph/precision/quantize_activations.h"

#include <fmt/ranges.h>

#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/precision/flat_weights.h"
#include "passes/graph/precision/weight_products.h"
#include "runtime/base/error.h"
#include "runtime/plan/activation_bound.h"

namespace smelt {
namespace {

constexpr double kSteps = 127;         // on each side of 0
constexpr double kLeastBound = 1e-30;  // of a row of zeros, in place of 0, whose inverse would be infinite
constexpr double kFirstBound = 16;     // before training, unless the largest magnitude is measured

/// Products by the activations that they read.
using Groups = llvm::MapVector<Value*, std::vector<WeightProduct>>;

/// Returns the names of the parameters that anything but a matmul reads, such as tables of embeddings.
std::set<std::string> other_parameters(const Module& module) {
  std::set<std::string> names;
  for (const auto& graph : module.graphs)
    for (const auto& node : graph->nodes())
      if (node->is(Op::parameter) && !llvm::all_of(node->result()->users(), [&](const Node* user) {
            return multiplies(*user, *node->result());
          }))
        names.insert(node->get(attr::name));
  return names;
}

bool can_quantize(const WeightProduct& product, const std::set<std::string>& others) {
  const Value& weight = *product.node->operand(product.weight);
  const auto size = size_of_weight(product);
  return weight.node()->is(Op::parameter) && weight.dtype() == DType::f32 && size && is_whole_lines(*size) &&
         output_axes(*product.node, product.weight) && !others.contains(weight.node()->get(attr::name));
}

Groups groups_of(const Graph& graph, const std::set<std::string>& others) {
  Groups groups;
  for (const WeightProduct& each : weight_products(graph))
    if (can_quantize(each, others)) groups[each.activations()].push_back(each);
  return groups;
}

std::string bound_of(const std::vector<WeightProduct>& group) {
  return activation_bound_of(*group.front().names().begin());
}

/// The numbers of a tensor, and what one step of them stands for.
struct Rounded {
  Value *numbers, *step;
};

/// Returns x in steps, unrounded.
Value* in_steps(GraphBuilder& b, Value* x, Value* bound, const std::vector<int64_t>& axes) {
  return b.mul(x, b.broadcast(b.div(b.like(bound, kSteps), bound), axes, x->shape()));
}

Value* rounded(GraphBuilder& b, Value* steps) {
  return b.round(b.min(b.max(steps, b.like(steps, -kSteps)), b.like(steps, kSteps)));
}

Value* step_of(GraphBuilder& b, Value* bound) { return scale(b, bound, 1 / kSteps); }

/// Returns the names in files of the bound of a weight's activations.
std::vector<std::string> stored_bounds(const Module::Parameter& weight) {
  std::vector<std::string> names;
  for (const std::string& name : weight.checkpoint_names) names.push_back(activation_bound_of(name));
  if (names.empty()) names.push_back(activation_bound_of(weight.name));
  return names;
}

/// Returns the names in files of the bound of a group: those of all weights, the first weight's first.
std::vector<std::string> stored_bounds(Module& module, const std::vector<WeightProduct>& group) {
  std::vector<std::string> names;
  for (const WeightProduct& each : group)
    for (std::string& name : stored_bounds(*module.find_parameter(*each.names().begin())))
      if (!llvm::is_contained(names, name)) names.push_back(std::move(name));
  return names;
}

Value* bound_parameter(GraphBuilder& b, const std::vector<WeightProduct>& group) {
  Module::Parameter bound;
  bound.name = bound_of(group), bound.type = {DType::f32, {}};
  if (const auto* declared = b.module().find_parameter(bound.name)) return b.parameter(*declared);
  bound.init.a = kFirstBound, bound.decay = false;
  bound.checkpoint_names = stored_bounds(b.module(), group);
  return b.parameter(bound);
}

class GraphRounder {
 public:
  GraphRounder(Graph& graph, const QuantizeActivationsOptions& options)
      : graph_(graph), trains_(options.trains), next_id_(next_cotangent(graph)) {}

  void round(const std::vector<WeightProduct>& group) {
    GraphBuilder b(graph_, group.front().node);
    b.set_source(group.front().node->source);
    Value* x = group.front().activations();
    Value* c = bound_parameter(b, group);
    Value* most = b.max(c, b.like(c, kLeastActivationBound));
    Value* steps = in_steps(b, x, most, {});
    Value* numbers = rounded(b, steps);
    if (!trains_) numbers = b.convert(b.convert(numbers, DType::i8), DType::f32);
    const Activations activations{x, c, steps, {numbers, step_of(b, most)}};
    for (const WeightProduct& each : group) replace(each, activations);
  }

 private:
  struct Activations {
    Value *x, *bound, *steps;
    Rounded rounded;
  };

  void replace(const WeightProduct& product, const Activations& activations) {
    graph_.replace_all_uses(product.node->result(), rounded_product(product, activations));
    graph_.erase(product.node);
  }

  Value* rounded_product(const WeightProduct& product, const Activations& activations) {
    Node& node = *product.node;
    GraphBuilder b(graph_, &node);
    b.set_source(node.source);
    const InheritMarks marks(graph_, &node, node);
    return trains_ ? trained(b, product, activations) : multiplied(b, product, activations.rounded);
  }

  static Value* multiplied(GraphBuilder& b, const WeightProduct& product, const Rounded& x) {
    const Node& node = *product.node;
    Value* operands[2] = {node.operand(0), node.operand(1)};
    operands[1 - product.weight] = x.numbers;
    Value* sums = b.matmul(operands[0], operands[1], node.get(attr::spec));
    return b.mul(sums, everywhere(b, x.step, sums->shape()));
  }

  static Rounded rounded_rows(GraphBuilder& b, Value* weight) {
    Value* largest = row_reduce(b, ReduceOp::max, b.abs(weight));
    Value* bound = b.max(largest, b.like(largest, kLeastBound));
    return {rounded(b, in_steps(b, weight, bound, leading_axes(bound->rank()))), step_of(b, bound)};
  }

  Value* cotangent(GraphBuilder& b, const Type& type) {
    Attributes id;
    id.set(attr::id, next_id_++);
    return b.create(Op::cotangent, {}, std::move(id), {type})->result();
  }

  /// One operand takes the place of the result.
  static Value* product_with(GraphBuilder& b, const WeightProduct& product, Value* g, Value* other,
                             bool of_weight) {
    const MatmulSpec spec = parse_matmul_spec(product.node->get(attr::spec));
    const std::string &weight = product.weight == 0 ? spec.a : spec.b,
                      &x = product.weight == 0 ? spec.b : spec.a;
    return b.matmul(g, other, spec.out + "," + (of_weight ? x + "->" + weight : weight + "->" + x));
  }

  Value* trained(GraphBuilder& b, const WeightProduct& product, const Activations& activations) {
    const Node& node = *product.node;
    Value* weight = node.operand(product.weight);
    const Rounded w = rounded_rows(b, weight), &x = activations.rounded;
    Value* operands[2] = {x.numbers, x.numbers};
    operands[product.weight] = w.numbers;
    Value* sums = b.matmul(operands[0], operands[1], node.get(attr::spec));
    const auto rows = *output_axes(node, product.weight);
    Value* scaled = b.mul(sums, b.broadcast(w.step, rows, sums->shape()));
    Value* forward = b.mul(scaled, everywhere(b, x.step, sums->shape()));
    Value* g = cotangent(b, node.result()->type);
    Value* steps_of_weight = b.broadcast(w.step, leading_axes(w.step->rank()), weight->shape());
    Value* to_x = product_with(b, product, g, b.mul(w.numbers, steps_of_weight), false);
    Value* to_weight = product_with(b, product, g, x.numbers, true);
    to_weight = b.mul(to_weight, everywhere(b, x.step, to_weight->shape()));
    Attributes results;
    results.set(attr::results, int64_t{1});
    return b
        .create(Op::custom_vjp,
                {forward, g, activations.x, weight, activations.bound, inside(b, activations.steps, to_x),
                 to_weight, outside(b, activations.steps, to_x)},
                std::move(results))
        ->result();
  }

  static Value* inside(GraphBuilder& b, Value* steps, Value* g) {
    return b.select(b.le(b.abs(steps), b.like(steps, kSteps)), g, b.like(g, 0));
  }

  static Value* outside(GraphBuilder& b, Value* steps, Value* g) {
    Value* above = b.select(b.gt(steps, b.like(steps, kSteps)), g, b.like(g, 0));
    Value* below = b.select(b.lt(steps, b.like(steps, -kSteps)), g, b.like(g, 0));
    Value* sum = row_sum(b, b.sub(above, below));
    return sum->rank() == 0 ? sum : b.sum(sum, leading_axes(sum->rank()));
  }

  Graph& graph_;
  bool trains_;
  int64_t next_id_;
};

/// Returns whether a weight of the group has one of these names.
bool has_one_of(const std::set<std::string>& names, const std::vector<WeightProduct>& group) {
  return llvm::any_of(group,
                      [&](const WeightProduct& each) { return names.contains(*each.names().begin()); });
}

/// Returns the names of the bounds of a graph's activations: those of the products that others follow.
std::set<std::string> bounds_of(const Graph& graph, const std::set<std::string>& others,
                                const std::set<std::string>& kept) {
  const std::set<const Node*> followed = nodes_before(weight_products(graph));
  std::set<std::string> names;
  for (const auto& [x, group] : groups_of(graph, others))
    if (!has_one_of(kept, group) &&
        llvm::all_of(group, [&](const WeightProduct& each) { return followed.contains(each.node); }))
      names.insert(bound_of(group));
  return names;
}

/// Returns the names of the bounds that have one of the names in files, but those of kept weights.
std::set<std::string> stored_in(Module& module, const std::vector<std::string>& files,
                                const std::set<std::string>& others, const std::set<std::string>& kept) {
  const std::set<std::string> stored(files.begin(), files.end());
  std::set<std::string> bounds;
  for (const auto& graph : module.graphs)
    for (const auto& [x, group] : groups_of(*graph, others))
      if (!has_one_of(kept, group) &&
          llvm::any_of(stored_bounds(module, group), [&](const auto& name) { return stored.contains(name); }))
        bounds.insert(bound_of(group));
  return bounds;
}

std::set<std::string> chosen_bounds(Module& module, const QuantizeActivationsOptions& options,
                                    const std::set<std::string>& others) {
  const std::set<std::string> kept = names_that_fit(module, options.keep);
  if (!options.bounds.empty()) return stored_in(module, options.bounds, others, kept);
  std::set<std::string> bounds;
  for (const auto& graph : module.graphs)
    if (!options.trains || graph->name == options.loss) bounds.merge(bounds_of(*graph, others, kept));
  if (bounds.empty())
    fail(
        "qat: no weight of this model can be multiplied in int8: expected matrices whose inputs and outputs "
        "are multiples of 16, which only matmuls read, with a matmul after them; the last one stays in "
        "floats");
  return bounds;
}

Value* largest_magnitude(GraphBuilder& b, Value* x) {
  Value* largest = b.abs(x);
  if (x->rank() > 1) largest = row_reduce(b, ReduceOp::max, largest);
  return b.reduce(ReduceOp::max, largest, leading_axes(largest->rank()));
}

/// Adds the graph that measures activations, for values of the evaluation, which has no dropout.
void add_calibration(Module& module, const QuantizeActivationsOptions& options,
                     const std::set<std::string>& others, const std::set<std::string>& bounds) {
  const Graph* evaluation = module.find_graph("evaluate");
  const Graph* from = evaluation ? evaluation : module.find_graph(options.loss);
  module.graphs.push_back(from->clone_into(module, options.calibration));
  Graph& graph = *module.graphs.back();
  graph.outputs.clear();
  GraphBuilder b(graph);
  for (const auto& [x, group] : groups_of(graph, others))
    if (const std::string name = bound_of(group); bounds.contains(name))
      b.output(name, largest_magnitude(b, x));
  graph.prune();
}

}  // namespace

bool quantize_activations(Module& module, const QuantizeActivationsOptions& options) {
  const std::set<std::string> others = other_parameters(module);
  const std::set<std::string> bounds = chosen_bounds(module, options, others);
  const size_t count = module.graphs.size();
  if (!options.calibration.empty()) add_calibration(module, options, others, bounds);
  for (const auto& graph : llvm::ArrayRef(module.graphs).take_front(count)) {
    GraphRounder rounder(*graph, options);
    for (const auto& [x, group] : groups_of(*graph, others))
      if (const std::string name = bound_of(group); bounds.contains(name)) rounder.round(group);
    graph->prune();
  }
  return true;
}

}  // namespace smelt
