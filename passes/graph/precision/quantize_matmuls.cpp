#include "passes/graph/precision/quantize_matmuls.h"

#include <set>

#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/expressions.h"
#include "passes/parameter_patterns.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr double kLargest = 448;   // of f8e4m3
constexpr double kLeast = 1e-30;   // in place of a largest magnitude of 0
constexpr int64_t kTogether = 16;  // elements that a library multiplies together
/// Least harmonic mean of inputs and outputs. On an H200, the three matmuls of a model 2,048 wide save 1.1 ns
/// by 1e6 products, and rounding takes 2.4 ns by 1e3 elements of activations and gradients: equal at 1,450.
/// Models whose weights have means from 1,280 to 2,048 gain, and those up to 1,230 do not.
constexpr double kLeastMean = 1250;

/// A product of activations by a weight.
struct Product {
  Node* node;
  unsigned weight;  // the operand
  Value* activations() const { return node->operand(1 - weight); }
};

/// The names of the parameters that the value shows; empty if it is anything else.
std::set<std::string> parameters_behind(const Value* value) {
  const Node& node = *value->node();
  if (node.is(Op::parameter)) return {node.get(attr::name)};
  std::set<std::string> names;
  if (!is_view(node) && !node.is(Op::concat) && !node.is(Op::convert)) return names;
  for (const Value* operand : node.operands()) {
    const std::set<std::string> more = parameters_behind(operand);
    if (more.empty()) return {};
    names.insert(more.begin(), more.end());
  }
  return names;
}

std::optional<Product> product_of(Node& node) {
  if (!node.is(Op::matmul) || node.body || node.result()->dtype() != DType::f32) return std::nullopt;
  for (const unsigned side : {1u, 0u})
    if (!parameters_behind(node.operand(side)).empty() && parameters_behind(node.operand(1 - side)).empty())
      return Product{&node, side};
  return std::nullopt;
}

/// The sizes of a weight: products of the dims that are summed over, and of those of the result.
struct WeightSize {
  int64_t inputs = 1, outputs = 1;
};

/// Nothing for a weight with sizes that are not known, or with a batch.
std::optional<WeightSize> size_of_weight(const Product& product) {
  const MatmulSpec spec = parse_matmul_spec(product.node->get(attr::spec));
  const std::string& letters = product.weight == 0 ? spec.a : spec.b;
  const std::string& others = product.weight == 0 ? spec.b : spec.a;
  WeightSize size;
  for (const auto [i, letter] : llvm::enumerate(letters)) {
    const auto extent = product.node->operand(product.weight)->shape()[i].constant();
    const bool is_summed = spec.out.find(letter) == std::string::npos;
    if (!extent || (!is_summed && others.find(letter) != std::string::npos)) return std::nullopt;
    (is_summed ? size.inputs : size.outputs) *= *extent;
  }
  return size;
}

/// The numbers of a tensor by its scale.
struct Quantized {
  Value *numbers, *scale;
};

Quantized quantized(GraphBuilder& b, Value* x) {
  Value* largest = b.abs(x);
  if (x->rank() > 1) largest = row_reduce(b, ReduceOp::max, largest);  // in the kernel that makes x
  if (largest->rank() > 0) largest = b.reduce(ReduceOp::max, largest, leading_axes(largest->rank()));
  Value* scale = smelt::scale(b, b.max(largest, b.like(largest, kLeast)), 1 / kLargest);
  Value* inverse = b.div(b.like(scale, 1), scale);
  return {b.convert(b.mul(x, everywhere(b, inverse, x->shape())), DType::f8e4m3), scale};
}

Value* product(GraphBuilder& b, const Quantized& left, const Quantized& right, const std::string& a,
               const std::string& c, const std::string& out) {
  Value* sums = b.matmul(left.numbers, right.numbers, a + "," + c + "->" + out);
  Value* scaled = b.mul(sums, everywhere(b, left.scale, sums->shape()));
  return b.mul(scaled, everywhere(b, right.scale, sums->shape()));
}

class GraphQuantizer {
 public:
  GraphQuantizer(Graph& graph, const std::set<std::string>* wanted, const std::set<std::string>& kept)
      : graph_(graph), wanted_(wanted), kept_(kept) {
    for (const auto& node : graph.nodes()) {
      if (auto found = product_of(*node)) products_.push_back(*found);
      if (node->is(Op::cotangent)) next_id_ = std::max(next_id_, node->get(attr::id) + 1);
    }
  }

  /// Adds the names of the weights that are quantized.
  void run(std::set<std::string>& quantized) {
    const std::set<const Node*> followed = nodes_before_products();
    for (const Product& each : products_) {
      if (!is_chosen(each, followed)) continue;
      quantized.merge(parameters_behind(each.node->operand(each.weight)));
      replace(each);
    }
  }

 private:
  /// Returns the nodes from whose results activations of a product are computed.
  std::set<const Node*> nodes_before_products() const {
    std::set<const Node*> seen;
    std::vector<const Node*> open;
    for (const Product& each : products_) open.push_back(each.activations()->node());
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      if (!seen.insert(node).second) continue;
      for (const Value* operand : node->operands()) open.push_back(operand->node());
    }
    return seen;
  }

  bool is_chosen(const Product& each, const std::set<const Node*>& followed) const {
    const auto size = size_of_weight(each);
    if (!size || size->inputs % kTogether != 0 || size->outputs % kTogether != 0) return false;
    const std::set<std::string> names = parameters_behind(each.node->operand(each.weight));
    if (llvm::any_of(names, [&](const std::string& name) { return kept_.contains(name); })) return false;
    if (wanted_) return llvm::all_of(names, [&](const std::string& name) { return wanted_->contains(name); });
    const auto inputs = static_cast<double>(size->inputs), outputs = static_cast<double>(size->outputs);
    return followed.contains(each.node) && 2 * inputs * outputs / (inputs + outputs) >= kLeastMean;
  }

  void replace(const Product& each) {
    Node& node = *each.node;
    const MatmulSpec spec = parse_matmul_spec(node.get(attr::spec));
    GraphBuilder b(graph_, &node);
    b.set_source(node.source);
    Value *left = node.operand(0), *right = node.operand(1);
    const Quantized a = quantized(b, left), c = quantized(b, right);
    Value* forward = product(b, a, c, spec.a, spec.b, spec.out);
    Attributes id;
    id.set(attr::id, next_id_++);
    const Type type = node.result()->type;
    Value* cotangent = b.create(Op::cotangent, {}, std::move(id), {type})->result();
    const Quantized g = quantized(b, cotangent);
    Value* to_left = product(b, g, c, spec.out, spec.b, spec.a);
    Value* to_right = product(b, g, a, spec.out, spec.a, spec.b);
    Attributes results;
    results.set(attr::results, int64_t{1});
    Node* whole =
        b.create(Op::custom_vjp, {forward, cotangent, left, right, to_left, to_right}, std::move(results));
    inherit_marks(node, *whole);
    graph_.replace_all_uses(node.result(), whole->result());
    graph_.erase(&node);
  }

  Graph& graph_;
  const std::set<std::string>* wanted_;  // null: by size
  const std::set<std::string>& kept_;
  std::vector<Product> products_;
  int64_t next_id_ = 0;
};

std::set<std::string> names_that_fit(const Module& module, const std::vector<std::string>& patterns) {
  std::set<std::string> names;
  const std::vector<bool> fits = parameters_that_fit(module, patterns);
  for (auto [i, parameter] : llvm::enumerate(module.parameters))
    if (fits[i]) names.insert(parameter.name);
  return names;
}

/// Nothing that was asked for stays undone without a word.
void check_names(const Module& module, const QuantizeMatmulsOptions& options,
                 const std::set<std::string>& quantized) {
  for (const std::string& pattern : options.weights)
    if (!llvm::any_of(names_that_fit(module, {pattern}),
                      [&](const std::string& name) { return quantized.contains(name); }))
      fail(
          "fp8: no weight whose name fits '{}' can be multiplied in fp8: expected matrices whose inputs and "
          "outputs are multiples of 16; weights that are multiplied together (such as queries, keys and "
          "values) "
          "are named together",
          pattern);
  if (quantized.empty())
    fail(
        "fp8: no weight of this model is large enough to be multiplied faster in fp8, or may be: give "
        "precision "
        "bf16, or the names of weights");
}

}  // namespace

bool quantize_matmuls(Module& module, const QuantizeMatmulsOptions& options) {
  const std::set<std::string> wanted = names_that_fit(module, options.weights),
                              kept = names_that_fit(module, options.keep);
  std::set<std::string> quantized;
  for (const auto& graph : module.graphs)
    GraphQuantizer(*graph, options.weights.empty() ? nullptr : &wanted, kept).run(quantized);
  check_names(module, options, quantized);
  return true;
}

}  // namespace smelt
