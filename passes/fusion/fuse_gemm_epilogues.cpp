#include "passes/fusion/fuse_gemm_epilogues.h"

#include "ir/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"

namespace smelt {
namespace {

/// The value that a chain of converts begins with.
const Value* without_converts(const Value* value) {
  while (value->node()->is(Op::convert)) value = value->node()->operand(0);
  return value;
}

/// The operand of the fusion that an input of its body stands for; null for what is computed.
Value* operand_of(const Node& fusion, const Value* value) {
  for (auto [input, operand] : llvm::zip(fusion.body->inputs(), fusion.operands()))
    if (input->result() == value) return operand;
  return nullptr;
}

/// The operand that `value` spreads along the last axis.
Value* spread_operand(const Node& fusion, const Value* value) {
  const Node& node = *value->node();
  const bool along_last =
      node.is(Op::broadcast) && node.ints_attr("axes") == std::vector<int64_t>{value->rank() - 1};
  return along_last ? operand_of(fusion, without_converts(node.operand(0))) : nullptr;
}

struct BiasedProduct {
  Node* product;
  Value* bias;
};

/// Letters of one operand alone are one, the result's last, and so are the summed ones: a single matrix
/// product.
bool bias_runs_along_columns(const Node& matmul) {
  const MatmulSpec spec = parse_matmul_spec(matmul.string_attr("spec"));
  const auto in = [](const std::string& letters, char letter) {
    return letters.find(letter) != std::string::npos;
  };
  std::string columns, summed;
  for (char letter : spec.b) (in(spec.a, letter) ? summed : columns) += letter;
  const bool batched = llvm::any_of(summed, [&](char letter) { return in(spec.out, letter); });
  return !batched && summed.size() == 1 && columns.size() == 1 && spec.out.back() == columns[0];
}

class EpilogueFuser {
 public:
  explicit EpilogueFuser(Graph& graph) : graph_(graph) {}

  bool run() {
    bool changed = false;
    for (Node* fusion : nodes_of(graph_, Op::fusion)) {
      const auto found = biased_product(*fusion);
      if (!found) continue;
      join(*fusion, *found);
      changed = true;
    }
    return changed;
  }

 private:
  std::optional<BiasedProduct> biased_product(const Node& fusion) const {
    if (fusion.result_count() != 1 || fusion.operands().size() != 2) return {};
    const Value* sum = without_converts(fusion.body->outputs[0].value);
    if (!sum->node()->is(ScalarOp::add)) return {};
    for (unsigned side : {0u, 1u}) {
      Value* bias = spread_operand(fusion, sum->node()->operand(side));
      Value* product = operand_of(fusion, without_converts(sum->node()->operand(1 - side)));
      const bool fits = bias && product && bias->dtype() == product->dtype();
      if (fits && can_take_bias(*product, fusion)) return BiasedProduct{product->node(), bias};
    }
    return {};
  }

  bool can_take_bias(const Value& product, const Node& fusion) const {
    const Node& node = *product.node();
    return node.is(Op::matmul) && node.operands().size() == 2 && product.users().size() == 1 &&
           !graph_.is_output(&product) && product.type == fusion.result()->type &&
           bias_runs_along_columns(node);
  }

  void join(Node& fusion, const BiasedProduct& found) {
    const Node& product = *found.product;
    Node* joined = graph_.create(Op::matmul, {product.operand(0), product.operand(1), found.bias},
                                 {fusion.result()->type}, &fusion);
    joined->attributes = product.attributes;
    joined->source = product.source;
    graph_.replace_all_uses(fusion.result(), joined->result());
    graph_.erase(&fusion);
    graph_.erase(found.product);
  }

  Graph& graph_;
};

}  // namespace

bool fuse_gemm_epilogues(Graph& graph, const FuseGemmEpiloguesOptions&) { return EpilogueFuser(graph).run(); }

}  // namespace smelt
