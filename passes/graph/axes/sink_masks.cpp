#include "passes/graph/axes/axes_passes.h"

#include <fmt/format.h>

#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/expressions.h"
#include "passes/graph/axes/score_values.h"

namespace smelt {
namespace {

/// A broadcast in the body of an argument to the scores, which can be computed there.
struct Read {
  Value* outside;
  Node* broadcast;
};

class Sinker {
 public:
  explicit Sinker(Node& attention)
      : attention_(attention), body_(*attention.body), scores_(handed_values(attention)[0]->shape()) {
    for (const BodyArgument& argument : body_arguments(attention)) inputs_[argument.operand] = argument.input;
  }

  bool run() {
    bool changed = false;
    for (const Read& read : reads()) changed |= sink(read);
    if (changed) body_.prune(), make_again();
    return changed;
  }

 private:
  std::vector<Read> reads() const {
    std::vector<Read> result;
    for (const BodyArgument& argument : body_arguments(attention_))
      for (Node* user : argument.input->users())
        if (user->is(Op::broadcast) && user->result()->shape() == scores_)
          result.push_back({argument.operand, user});
    return result;
  }

  bool sink(const Read& read) {
    GraphBuilder inside(body_, read.broadcast);
    ScoreValues values(inside, scores_, [&](Value* outside, const ScoreValues::Dims& dims) {
      return inside.broadcast(input(outside), dims, scores_);
    });
    if (!values.computes(read.outside)) return false;
    body_.replace_all_uses(read.broadcast->result(),
                           values.spread(read.outside, read.broadcast->get(attr::axes)));
    return true;
  }

  Value* input(Value* outside) {
    Value*& known = inputs_[outside];
    if (known) return known;
    attention_.add_operand(outside);
    return known = body_.create(Op::input, {}, outside->type, first_computation(body_))->result();
  }

  /// The attention without arguments that its body does not read any more.
  void make_again() {
    llvm::SmallVector<Value*, 6> operands(own_operands(attention_));
    int kept = 0;
    for (const BodyArgument& argument : body_arguments(attention_)) {
      Node* input = argument.input->node();
      if (argument.input->users().empty() && !body_.is_output(argument.input)) {
        body_.erase(input);
      } else {
        input->set(attr::name, fmt::format("a{}", kept++));
        operands.push_back(argument.operand);
      }
    }
    Graph& graph = attention_.graph();
    Node* twin = graph.clone(attention_, operands, &attention_);
    for (unsigned i = 0; i < twin->result_count(); ++i)
      graph.replace_all_uses(attention_.result(i), twin->result(i));
    graph.erase(&attention_);
  }

  Node& attention_;
  Graph& body_;
  Shape scores_;
  llvm::DenseMap<Value*, Value*> inputs_;
};

}  // namespace

bool sink_masks(Graph& graph, const SinkMasksOptions&) {
  bool changed = false;
  for (Node* attention : nodes_of(graph, Op::attention))
    if (attention->body) changed |= Sinker(*attention).run();
  graph.prune();
  return changed;
}

}  // namespace smelt
