#include "passes/graph/fusion/fuse_gemm_epilogues.h"

#include "ir/analysis/epilogue.h"
#include "ir/analysis/uses.h"
#include "ir/graph/body.h"
#include "ir/graph/builder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/graph/fusion/bodies.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Turns the fusion's body into one of the matmul that makes its operand `index`.
class BodyMaker {
 public:
  BodyMaker(const Node& fusion, unsigned index)
      : fusion_(fusion), matmul_(fusion.body->inputs()[index]->result()) {}

  std::unique_ptr<Graph> make(llvm::ArrayRef<Type> inputs) {
    auto body = empty_body(fusion_.graph().module(), Op::matmul, inputs);
    size_t next = 1;
    for (const Node* input : fusion_.body->inputs())
      if (input->result() != matmul_) values_[input->result()] = body->inputs()[next++]->result();
    for (const auto& node : fusion_.body->nodes())
      if (!node->is(Op::input)) copy(*node, *body);
    for (const Graph::Output& output : fusion_.body->outputs)
      body->outputs.push_back({output.name, values_.at(output.value)});
    return body;
  }

 private:
  void copy(const Node& node, Graph& body) {
    // The body gets the accumulator in f32, so there is nothing to widen.
    if (node.is(Op::convert) && node.operand(0) == matmul_ && node.result()->dtype() == DType::f32)
      return void(values_[node.result()] = body.inputs()[0]->result());
    llvm::SmallVector<Value*, 3> operands;
    for (const Value* operand : node.operands()) operands.push_back(value(operand, body));
    Node* twin = body.clone(node, operands);
    for (unsigned i = 0; i < node.result_count(); ++i) values_[node.result(i)] = twin->result(i);
  }

  /// Nodes that read the matmul's stored result get the accumulator rounded to its type.
  Value* value(const Value* inside, Graph& body) {
    if (inside != matmul_) return values_.at(inside);
    return GraphBuilder(body).convert(body.inputs()[0]->result(), matmul_->dtype());
  }

  const Node& fusion_;
  const Value* matmul_;
  llvm::DenseMap<const Value*, Value*> values_;
};

class EpilogueFuser {
 public:
  EpilogueFuser(Graph& graph, const Target& target) : graph_(graph), target_(target) {}

  bool run() {
    bool changed = false;
    for (Node* fusion : nodes_of(graph_, Op::fusion)) changed |= join(*fusion);
    return changed;
  }

 private:
  bool join(Node& fusion) {
    for (unsigned i = 0; i < fusion.operands().size(); ++i) {
      if (!is_only_read_here(*fusion.operand(i), fusion)) continue;
      Node* joined = with_body(fusion, i);
      if (is_free(*joined)) return replace(fusion, *fusion.operand(i)->node(), *joined), true;
      graph_.erase(joined);
    }
    return false;
  }

  /// A matmul's result that the fusion alone reads, and replaces by one of the same type. The library would
  /// write an output with ragged rows slowly.
  bool is_only_read_here(const Value& value, const Node& fusion) const {
    const Node& node = *value.node();
    if (graph_.is_output(fusion.result()) && has_ragged_rows(*fusion.result())) return false;
    return node.is(Op::matmul) && !node.body && is_float(value.dtype()) && has_one_use(value) &&
           fusion.result_count() == 1 && value.type == fusion.result()->type;
  }

  /// Makes the matmul with the fusion's operations as its body, at the fusion's position.
  Node* with_body(Node& fusion, unsigned index) {
    const Node& matmul = *fusion.operand(index)->node();
    llvm::SmallVector<Value*, 8> arguments(fusion.operands().begin(), fusion.operands().end());
    arguments.erase(arguments.begin() + index);
    GraphBuilder b(graph_, &fusion);
    return matmul_with_body(b, matmul, arguments, [&](llvm::ArrayRef<Type> inputs) {
      return BodyMaker(fusion, index).make(inputs);
    });
  }

  /// A matrix would have to be copied to where the result goes, which costs what the kernel did.
  bool is_free(const Node& matmul) const {
    return target_.keeps_body(matmul) && epilogue(matmul)->kind != Epilogue::Kind::matrix;
  }

  void replace(Node& fusion, Node& matmul, Node& joined) {
    graph_.replace_all_uses(fusion.result(), joined.result());
    graph_.erase(&fusion);
    graph_.erase(&matmul);
  }

  Graph& graph_;
  const Target& target_;
};

}  // namespace

bool fuse_gemm_epilogues(Graph& graph, const FuseGemmEpiloguesOptions& options) {
  return EpilogueFuser(graph, options.target).run();
}

}  // namespace smelt
