#include "codegen/lowering/attention_fusion.h"

#include <fmt/format.h>

#include "ir/analysis/view.h"
#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {

AttentionFusion::AttentionFusion(const Node& node)
    : node_(node),
      scratch_(node.graph().module()),
      body_(std::make_unique<Graph>(node.graph().module())),
      b_(*body_) {}

AttentionFusion::~AttentionFusion() {
  if (fusion_) scratch_.erase(fusion_);
}

Value* AttentionFusion::hand(const Type& type, int slot, std::vector<Dim> strides, const Value* value) {
  Value* outside = scratch_.create(Op::input, {}, type)->result();
  outside->layout = Layout{handed_buffer(slot), 0, std::move(strides)};
  operands_.push_back(outside);
  Value* inside = body_->create(Op::input, {}, type)->result();
  if (value) twins_[value] = inside;
  return inside;
}

void AttentionFusion::copy_body() {
  if (!node_.body) return;
  copy_arguments();
  copy_nodes();
}

void AttentionFusion::copy_arguments() {
  for (const auto& [operand, input] : body_arguments(node_)) {
    if (twins_.count(input)) continue;
    twins_[input] = body_->create(Op::input, {}, input->type)->result();
    operands_.push_back(operand);
  }
}

/// An argument is an input for each node that spreads it: one is read along queries, another along keys.
void AttentionFusion::copy_nodes() {
  for (const auto& node : node_.body->nodes()) {
    if (node->is(Op::input) || node->is(Op::reduce) || twins_.count(node->result())) continue;
    llvm::SmallVector<Value*, 3> operands;
    for (const Value* operand : node->operands()) operands.push_back(twins_.at(operand));
    if (node->is(Op::broadcast) && operands[0]->node()->is(Op::input)) {
      const std::vector<Node*> inputs = body_->inputs();
      const auto at = llvm::find(inputs, operands[0]->node()) - inputs.begin();
      operands_.push_back(operands_[static_cast<size_t>(at)]);
      operands[0] = body_->create(Op::input, {}, operands[0]->type)->result();
    }
    Node* copy = body_->clone(*node, operands);
    for (unsigned i = 0; i < node->result_count(); ++i) twins_[node->result(i)] = copy->result(i);
  }
}

/// An input that is returned as it is needs a node that has axes.
void AttentionFusion::add_output(Value* value, std::vector<Dim> strides) {
  const auto index = static_cast<int>(layouts_.size());
  if (value->node()->is(Op::input)) value = body_->create(Op::convert, {value}, {value->type})->result();
  body_->outputs.push_back({fmt::format("r{}", index), value});
  layouts_.push_back({returned_buffer(index), 0, std::move(strides)});
}

const Node& AttentionFusion::finish() {
  Value* sum = body_->outputs[0].value;
  for (const Graph::Output& output : body_->outputs)
    if (output.value->type == sum->type) sum = b_.add(sum, output.value);
  add_output(sum, dense_strides(sum->shape()));
  body_->prune();
  drop_unused();
  llvm::SmallVector<Type, 4> types;
  for (const Graph::Output& output : body_->outputs) types.push_back(output.value->type);
  fusion_ = scratch_.create(Op::fusion, operands_, types);
  fusion_->body = std::move(body_);
  for (const auto& result : fusion_->results()) result->layout = layouts_[result->index()];
  return *fusion_;
}

void AttentionFusion::drop_unused() {
  const std::vector<Node*> inputs = body_->inputs();
  for (size_t i = inputs.size(); i-- > 0;) {
    if (!inputs[i]->result()->users().empty()) continue;
    body_->erase(inputs[i]);
    operands_.erase(operands_.begin() + static_cast<int64_t>(i));
  }
}

bool BodyGradients::One::sums(int64_t axis) const { return axes && llvm::is_contained(*axes, axis); }

BodyGradients::BodyGradients(const Node& node) {
  for (size_t i = 2; i < node.body->outputs.size(); ++i) {
    const Value* value = node.body->outputs[i].value;
    const bool is_sum = value->node()->is(Op::reduce);
    const One one{is_sum ? value->node()->operand(0) : value, node.result(static_cast<unsigned>(i) + 1),
                  is_sum ? &value->node()->get(attr::axes) : nullptr};
    (one.sums(3) ? rows : one.sums(2) ? columns : elements).push_back(one);
  }
}

}  // namespace smelt
