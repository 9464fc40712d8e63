#include "passes/graph/precision/storage_classes.h"

#include "ir/analysis/attention_form.h"
#include "ir/analysis/epilogue.h"
#include "ir/analysis/forward_values.h"
#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "runtime/plan/retained_ports.h"

namespace smelt {

namespace {

bool is_narrow_float(DType type) { return type == DType::bf16 || type == DType::f16; }

const State* state_of(const Node& node, AttributeName<std::string> attribute) {
  return node.graph().module().find_state(node.get(attribute));
}

/// Which values of a body depend on activations other than by reductions.
class BodyActivations {
 public:
  BodyActivations(const Node& node, const llvm::DenseMap<const Value*, bool>& outside) {
    for (const Value* handed : handed_values(node)) known_[handed] = true;
    for (const auto& [operand, input] : body_arguments(node)) known_[input] = outside.lookup(operand);
    for (const auto& inner : node.body->nodes())
      if (!inner->is(Op::input)) visit(*inner);
  }
  bool of(const Value* value) const { return known_.lookup(value); }

 private:
  void visit(const Node& node) {
    const bool active = !node.is(Op::reduce) && llvm::any_of(node.operands(), [&](const Value* operand) {
      return is_float(operand->dtype()) && of(operand);
    });
    for (const auto& result : node.results()) known_[result.get()] = active && is_float(result->dtype());
  }
  llvm::DenseMap<const Value*, bool> known_;
};

/// Returns whether bf16 and f16 represent every number of the type.
bool is_exact_when_narrow(DType type) {
  return is_narrow_float(type) || type == DType::i8 || type == DType::u8 || type == DType::boolean;
}

/// Returns whether the elements of a value in the node's body are those of narrow values, such as the rows of
/// a parameter.
bool is_rounded(const Node& node, const Value& value) {
  const Node& made_by = *value.node();
  if (is_narrow_float(value.dtype())) return true;
  if (made_by.is(Op::gather) && made_by.operand(0)->node()->is(Op::input))
    return llvm::any_of(body_arguments(node), [&](const BodyArgument& argument) {
      return argument.input == made_by.operand(0) && argument.operand->node()->is(Op::parameter);
    });
  if (is_view(made_by) || made_by.is(Op::gather)) return is_rounded(node, *made_by.operand(0));
  return made_by.is(Op::convert) && is_exact_when_narrow(made_by.operand(0)->dtype());
}

/// The value is a table that a gather of the node's body looks into.
bool is_gathered(const Node& node, const Value* value) {
  return llvm::any_of(body_arguments(node), [&](const BodyArgument& argument) {
    return argument.operand == value && llvm::any_of(argument.input->users(), [&](const Node* user) {
             return user->is(Op::gather) && user->operand(0) == argument.input;
           });
  });
}

/// Returns whether an insert writes into the input; its result has the type of the target.
bool is_inserted_into(const Value* input) {
  return llvm::any_of(input->users(),
                      [&](const Node* user) { return user->is(Op::insert) && user->operand(0) == input; });
}

}  // namespace

StorageClasses::StorageClasses(const Graph& graph, const llvm::DenseSet<const Value*>& narrow_inputs,
                               bool same_bits)
    : graph_(graph), narrow_inputs_(narrow_inputs), same_bits_(same_bits) {
  number_values();
  if (same_bits) forward_ = forward_values(graph);
  for (const auto& node : graph.nodes()) join(*node);
  for (const auto& node : graph.nodes()) add(*node);
  for (const Graph::Output& output : graph.outputs)
    if (takes_part(output.value) && !(graph.module().stage && is_kept_port(output.name)))
      constraints(output.value).shown = true;
}

bool StorageClasses::is_narrow(const Value* value) const {
  if (!takes_part(value)) return false;
  const Constraints& c = constraints_[find(numbers_.lookup(value))];
  if (c.must_be_narrow) return true;
  if (c.must_be_wide || (c.shown && !c.read)) return false;
  return c.narrow;
}

int StorageClasses::find(int number) const {
  while (parent_[number] != number) number = parent_[number] = parent_[parent_[number]];
  return number;
}

void StorageClasses::unite(const Value* a, const Value* b) {
  if (!takes_part(a) || !takes_part(b)) return;
  const int x = find(numbers_.lookup(a)), y = find(numbers_.lookup(b));
  parent_[std::max(x, y)] = std::min(x, y);
}

void StorageClasses::number_values() {
  for (const auto& node : graph_.nodes())
    for (const auto& result : node->results()) {
      if (result->dtype() != DType::f32) continue;
      numbers_[result.get()] = static_cast<int>(parent_.size());
      parent_.push_back(static_cast<int>(parent_.size()));
    }
  constraints_.resize(parent_.size());
}

void StorageClasses::join(const Node& node) {
  if (is_view(node) || node.is(Op::scatter_add) || node.is(Op::scatter) || node.is(Op::collective))
    unite(node.operand(0), node.result());
  if (node.is(Op::scatter)) unite(node.operand(2), node.result());
  if (node.is(Op::concat) || node.is(Op::pack))
    for (const Value* operand : node.operands()) unite(operand, node.result());
  if (const auto sum = epilogue(node); sum && sum->kind == Epilogue::Kind::matrix)
    unite(sum->operand, node.result());
}

void StorageClasses::add(const Node& node) {
  switch (node.op()) {
    case Op::parameter:
      return add_parameter(node);
    case Op::input:
    case Op::state:
    case Op::constant:
      if (takes_part(node.result()))
        (narrow_inputs_.contains(node.result()) ? constraints(node.result()).must_be_narrow
                                                : constraints(node.result()).must_be_wide) = true;
      activation_[node.result()] = node.is(Op::input);
      return;
    case Op::fusion:
      return add_body(node);
    case Op::matmul:
      for (const Value* operand : own_operands(node))
        if (takes_part(operand)) constraints(operand).narrow = constraints(operand).read = true;
      if (node.body) return add_body(node);
      // Products of i8 weights, which are scaled afterwards, may exceed f16.
      if (takes_part(node.result()))
        (node.has(attr::result) ? constraints(node.result()).must_be_wide
                                : constraints(node.result()).narrow) = true;
      activation_[node.result()] = true;
      return;
    case Op::attention:
    case Op::attention_grad:
      return add_attention(node);
    case Op::update:
      return add_update(node);
    case Op::scan:
    case Op::top_k:
      keep_exact(node.operand(0));
      keep_exact(node.result(0));
      break;
    case Op::sample:
      for (const Value* value : {node.operand(0), node.operand(1), node.result(1)}) keep_exact(value);
      break;
    case Op::scatter_add:
    case Op::scatter:
      if (takes_part(node.operand(2))) constraints(node.operand(2)).read = true;
      break;
    case Op::pack:
      if (takes_part(node.result())) constraints(node.result()).narrow = true;
      break;
    default:
      break;
  }
  for (const auto& result : node.results())
    activation_[result.get()] =
        llvm::any_of(node.operands(), [&](const Value* operand) { return activation_.lookup(operand); });
}

/// Keeps the sort keys exact, back to their matmul, because rounding would make unequal numbers equal.
void StorageClasses::keep_exact(const Value* value) {
  if (!takes_part(value) || !exact_.insert(value).second) return;
  constraints(value).read = constraints(value).must_be_wide = true;
  const Node& made_by = *value->node();
  if (is_view(made_by)) return keep_exact(made_by.operand(0));
  if (!made_by.is(Op::fusion)) return;
  for (const BodyArgument& argument : body_arguments(made_by))
    if (argument.operand->rank() == value->rank()) keep_exact(argument.operand);
}

/// Read where it lies narrow only if that saves bytes that count: biases and norms come from the master.
void StorageClasses::add_parameter(const Node& parameter) {
  const Module& module = graph_.module();
  activation_[parameter.result()] = true;
  if (!takes_part(parameter.result())) return;
  const std::string& name = parameter.get(attr::name);
  const bool wide = module.find_parameter_state(name, DType::f32) != nullptr;
  const bool narrow = module.find_parameter_state(name, DType::bf16) != nullptr ||
                      module.find_parameter_state(name, DType::f16) != nullptr;
  if (narrow && !wide) constraints(parameter.result()).must_be_narrow = true;
  if (!narrow) constraints(parameter.result()).must_be_wide = true;
}

/// A fusion that rounds to 8 bits reads the narrow copies of parameters.
void StorageClasses::add_body(const Node& node) {
  const BodyActivations body(node, activation_);
  const bool rounds_further =
      llvm::any_of(node.results(), [](const auto& result) { return result->dtype() == DType::f8e4m3; });
  for (const auto& [operand, input] : body_arguments(node)) {
    if (!takes_part(operand)) continue;
    constraints(operand).read = true;
    if (is_inserted_into(input)) constraints(operand).must_be_wide = true;
    if (is_gathered(node, operand) || (rounds_further && operand->rank() > 0))
      constraints(operand).narrow = true;
  }
  for (auto [i, output] : llvm::enumerate(node.body->outputs)) {
    const Value* result = node.result(static_cast<unsigned>(i));
    activation_[result] = body.of(output.value);
    if (!takes_part(result)) continue;
    if (output.value->node()->is(Op::insert)) {
      constraints(result).must_be_wide = true;
      continue;
    }
    const bool keeps_digits = same_bits_ && forward_.contains(result) && !is_rounded(node, *output.value);
    if (result->rank() == 0 || node.phase == Phase::update || keeps_digits)
      constraints(result).must_be_wide = true;
    else if (body.of(output.value))
      constraints(result).narrow = true;
  }
}

/// Heads and their gradients are narrow; a row's log-sum-exp and delta, of which large parts cancel, and sums
/// of what the body reads are not.
void StorageClasses::add_attention(const Node& node) {
  const auto own = own_operands(node);
  for (const Value* operand : reads_codes(node) ? own.take_front(1) : own)
    if (takes_part(operand)) constraints(operand).narrow = constraints(operand).read = true;
  for (const Value* argument : node.operands().drop_front(own.size()))
    if (takes_part(argument)) constraints(argument).read = true;
  if (const auto weight = node.is(Op::attention_grad) ? attention_weight(node) : std::nullopt)
    for (const Value* row : {weight->lse, weight->delta})
      if (takes_part(row)) constraints(row).must_be_wide = true;
  const unsigned heads = node.is(Op::attention) ? 1 : 3;
  for (const auto& result : node.results()) {
    activation_[result.get()] = true;
    if (!takes_part(result.get())) continue;
    Constraints& c = constraints(result.get());
    (result->index() < heads ? c.must_be_narrow : c.must_be_wide) = true;
  }
}

void StorageClasses::add_update(const Node& update) {
  const Value* value = update.operand(0);
  const State* state = state_of(update, attr::state);
  if (!takes_part(value) || !state) return;
  constraints(value).read = true;
  (is_narrow_float(state->dtype) ? constraints(value).must_be_narrow : constraints(value).must_be_wide) =
      true;
}

}  // namespace smelt
