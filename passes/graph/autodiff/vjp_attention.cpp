// The derivative of attention. With w = exp(modified - lse) and y = sum_s w factor v:
//
//   d(weight) = w factor (dy . v),   d(modified) = w (factor (dy . v) - delta),   delta = dy . y - dlse
//
// (Dao et al., FlashAttention, appendix B; its D is our delta), and the body's own derivative leads from
// d(modified) to the score and to what the body reads. All of that is the body of an attention_grad. What
// rounding took from y, a third result, is zero in exact arithmetic and has no derivative.
#include <limits>

#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/autodiff/vjp.h"
#include "passes/graph/fusion/bodies.h"

namespace smelt {
namespace {

/// dy . y - dlse for each row: f32[b,h,t].
Value* row_delta(const Reverse& r, Value* dy) {
  Value* dot = row_sum(r.b, r.b.mul(widened(r.b, dy), widened(r.b, r.y())));
  Value* delta = r.b.transpose(dot, {0, 2, 1});
  return r.g(1) ? r.b.sub(delta, r.g(1)) : delta;
}

bool is_sum(const Value* value) {
  const Node& node = *value->node();
  if (node.is(ScalarOp::add)) return is_sum(node.operand(0)) && is_sum(node.operand(1));
  return node.is(ReduceOp::add);
}

/// Sums over scores that are added up to a value; else the value alone.
void add_sums(Value* value, llvm::SmallVectorImpl<Value*>& sums) {
  if (!value->node()->is(ScalarOp::add) || !is_sum(value)) return sums.push_back(value);
  for (Value* operand : value->node()->operands()) add_sums(operand, sums);
}

/// Writes the body: inputs score, product, lse, delta and the arguments of the attention's body.
class GradientBody {
 public:
  GradientBody(const Reverse& r, llvm::ArrayRef<Type> inputs)
      : r_(r), body_(empty_body(r.b.module(), Op::attention_grad, inputs)), b_(*body_) {
    for (Node* input : body_->inputs()) inputs_.push_back(input->result());
  }

  /// Which arguments of the attention's body have a gradient.
  std::vector<unsigned> with_gradient;
  /// Output after the first two: a part of the argument's gradient, to be summed along these axes.
  struct Part {
    unsigned argument;
    std::vector<int64_t> axes;
  };
  std::vector<Part> parts;

  std::unique_ptr<Graph> write() {
    Value *product = inputs_[1], *lse = along_row(b_, inputs_[2], shape()),
          *delta = along_row(b_, inputs_[3], shape());
    const Modified modified = forward();
    Value* weight = weights(modified.score, lse);
    Value* mixed = modified.factor ? b_.mul(weight, modified.factor) : weight;
    Value* through = modified.factor ? b_.mul(product, modified.factor) : product;
    Cotangents cotangents;
    activate(cotangents);
    const std::vector<Node*> nodes = nodes_;
    cotangents.add(modified.score, b_.mul(weight, b_.sub(through, delta)));
    if (modified.factor) cotangents.add(modified.factor, b_.mul(weight, product));
    walk_back(b_, nodes, cotangents);
    output(mixed);
    output(gradient(cotangents, inputs_[0]));
    for (unsigned i : with_gradient) {
      llvm::SmallVector<Value*, 2> sums;
      add_sums(gradient(cotangents, inputs_[4 + i]), sums);
      for (Value* sum : sums) output_part(i, sum);
    }
    body_->prune();
    return std::move(body_);
  }

 private:
  struct Modified {
    Value *score, *factor;
  };
  const Shape& shape() const { return inputs_[0]->shape(); }
  /// Kernels sum along keys, or along queries: what is summed along more axes is so of their results.
  void output_part(unsigned argument, Value* value) {
    parts.push_back({argument, {}});
    const Node& node = *value->node();
    std::vector<int64_t>& axes = parts.back().axes;
    if (node.is(ReduceOp::add) && node.operand(0)->shape() == shape()) axes = node.get(attr::axes);
    const auto last = llvm::max_element(axes);
    if (last == axes.end() || *last < 2) return axes.clear(), output(value);
    const int64_t axis = *last;
    axes.erase(last);
    output(b_.sum(node.operand(0), {axis}));
  }
  void output(Value* value) { b_.output("r" + std::to_string(body_->outputs.size()), value); }

  /// The nodes of the attention's body.
  Modified forward() {
    const Node& node = r_.node;
    if (!node.body) return {inputs_[0], nullptr};
    BodyValues values;
    values[handed_values(node).front()] = inputs_[0];
    for (auto [i, argument] : llvm::enumerate(body_arguments(node))) values[argument.input] = inputs_[4 + i];
    const Node* before = body_->previous(nullptr);
    inline_body(*node.body, *body_, nullptr, node.source, values);
    for (Node* made = body_->next(before); made; made = body_->next(made)) nodes_.push_back(made);
    const auto& outputs = node.body->outputs;
    return {values.at(outputs[0].value), outputs.size() > 1 ? values.at(outputs[1].value) : nullptr};
  }

  /// exp(modified - lse), and 0 where no key is seen: a row's lse may be -inf as well.
  Value* weights(Value* modified, Value* lse) {
    Value* masked = b_.eq(modified, b_.like(modified, -std::numeric_limits<double>::infinity()));
    return b_.select(masked, b_.like(modified, 0), b_.exp(b_.sub(modified, lse)));
  }

  void activate(Cotangents& cotangents) {
    cotangents.activate(inputs_[0]);
    for (unsigned i : with_gradient) cotangents.activate(inputs_[4 + i]);
    activate_users(*body_, cotangents);
  }

  Value* gradient(Cotangents& cotangents, Value* of) {
    Value* sum = cotangents.take(b_, of);
    return sum ? sum : zeros(b_, of->type);
  }

  const Reverse& r_;
  std::unique_ptr<Graph> body_;
  GraphBuilder b_;
  llvm::SmallVector<Value*, 8> inputs_;
  std::vector<Node*> nodes_;
};

}  // namespace

void reverse_attention(const Reverse& r) {
  const Node& node = r.node;
  Value* dy = r.g(0) ? r.g(0) : zeros(r.b, r.y()->type);
  llvm::SmallVector<Value*, 4> own = {r.x(0), r.x(1), r.x(2), dy};
  llvm::SmallVector<Value*, 6> arguments = {node.result(1), row_delta(r, dy)};
  for (const BodyArgument& argument : body_arguments(node)) arguments.push_back(argument.operand);
  GradientBody body(r, infer_body_inputs(Op::attention_grad, own, arguments, node.attributes));
  for (unsigned i = 3; i < node.operands().size(); ++i)
    if (r.needs(i)) body.with_gradient.push_back(i - 3);
  llvm::SmallVector<Value*, 10> operands(own.begin(), own.end());
  llvm::append_range(operands, arguments);
  Node* gradient =
      r.b.create(Op::attention_grad, operands, {attr::scale(node.get(attr::scale))}, body.write());
  for (unsigned i = 0; i < 3; ++i) r.add(i, gradient->result(i));
  for (auto [i, part] : llvm::enumerate(body.parts)) {
    Value* sum = gradient->result(static_cast<unsigned>(3 + i));
    r.add(3 + part.argument, part.axes.empty() ? sum : r.b.sum(sum, part.axes));
  }
}

}  // namespace smelt
