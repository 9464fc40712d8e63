#include "passes/graph/precision/quantize_matmuls.h"

#include <set>

#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/expressions.h"
#include "passes/graph/precision/weight_products.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr double kLargest = 448;  // of f8e4m3
constexpr double kLeast = 1e-30;  // in place of a largest magnitude of 0
/// Least harmonic mean of inputs and outputs. On an H200, the three matmuls of a model 2,048 wide save 1.1 ns
/// by 1e6 products, and rounding takes 2.4 ns by 1e3 elements of activations and gradients: equal at 1,450.
/// Models whose weights have means from 1,280 to 2,048 gain, and those up to 1,230 do not.
constexpr double kLeastMean = 1250;

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
      : graph_(graph),
        wanted_(wanted),
        kept_(kept),
        products_(weight_products(graph)),
        next_id_(next_cotangent(graph)) {}

  /// Adds the names of the weights that are quantized.
  void run(std::set<std::string>& quantized) {
    const std::set<const Node*> followed = nodes_before(products_);
    for (const WeightProduct& each : products_) {
      if (!is_chosen(each, followed)) continue;
      quantized.merge(each.names());
      replace(each);
    }
  }

 private:
  bool is_chosen(const WeightProduct& each, const std::set<const Node*>& followed) const {
    const auto size = size_of_weight(each);
    if (!size || !is_whole_lines(*size)) return false;
    const std::set<std::string> names = each.names();
    if (llvm::any_of(names, [&](const std::string& name) { return kept_.contains(name); })) return false;
    if (wanted_) return llvm::all_of(names, [&](const std::string& name) { return wanted_->contains(name); });
    const auto inputs = static_cast<double>(size->inputs), outputs = static_cast<double>(size->outputs);
    return followed.contains(each.node) && 2 * inputs * outputs / (inputs + outputs) >= kLeastMean;
  }

  void replace(const WeightProduct& each) {
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
  std::vector<WeightProduct> products_;
  int64_t next_id_;
};

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
