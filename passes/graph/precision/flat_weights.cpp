#include "passes/graph/precision/flat_weights.h"

#include <algorithm>

#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

constexpr int64_t kAlignment = 16;  // elements, as in the flat state of parameters

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

/// Returns whether the node is a matmul of two values, without a body.
bool is_matmul(const Node& node) {
  return node.is(Op::matmul) && !node.body && node.operand(0) != node.operand(1);
}

int64_t aligned(int64_t elements) { return (elements + kAlignment - 1) / kAlignment * kAlignment; }

/// The names of the weights that are taken.
class WeightChoice {
 public:
  WeightChoice(const Module& module, std::string_view state, const WeightReaders& readers,
               std::set<std::string> left_out)
      : module_(module), state_(state), readers_(readers), refused_(std::move(left_out)) {
    for (const auto& graph : module.graphs)
      for (const auto& node : graph->nodes())
        if (node->is(Op::parameter)) look(*node);
    for (const std::string& name : refused_) taken_.erase(name);
    while (drop_broken_stacks()) continue;
  }
  std::set<std::string> names() const { return taken_; }

 private:
  void look(const Node& parameter) {
    const Value& weight = *parameter.result();
    const std::string& name = parameter.get(attr::name);
    const State* flat = module_.state_of_parameter(name);
    bool fits = flat && flat->name == state_ && weight.dtype() == DType::f32 && weight.rank() >= 2 &&
                !parameter.graph().is_output(&weight);
    bool multiplied = false;
    for (const Node* user : weight.users()) {
      const bool is_stack = stacks(*user, readers_.any_matmuls);
      multiplied |= multiplies(*user, weight) || is_stack;
      fits &= is_stack || reads(*user, weight);
    }
    if (!fits) refused_.insert(name);
    if (multiplied) taken_.insert(name);
  }

  bool reads(const Node& user, const Value& weight) const {
    return multiplies(user, weight) || (readers_.any_matmuls && is_matmul(user)) ||
           (readers_.tables && gathers_rows(user, weight));
  }

  /// A stack has one type: it is taken whole or not at all.
  bool drop_broken_stacks() {
    const size_t before = taken_.size();
    for (const auto& graph : module_.graphs)
      for (const auto& node : graph->nodes())
        if (stacks(*node, readers_.any_matmuls) &&
            !llvm::all_of(node->operands(), [&](Value* v) { return is_taken(*v); }))
          for (const Value* part : node->operands()) taken_.erase(part->node()->get(attr::name));
    return taken_.size() != before;
  }
  bool is_taken(const Value& part) const { return taken_.count(part.node()->get(attr::name)) != 0; }

  const Module& module_;
  std::string_view state_;
  const WeightReaders& readers_;
  std::set<std::string> refused_, taken_;
};

}  // namespace

std::string_view state_of_weights(const Module& module) {
  const auto is_frozen = [](const State& state) { return state.name == kFrozenParameters; };
  return llvm::any_of(module.states, is_frozen) ? kFrozenParameters : kParameters;
}

std::set<std::string> multiplied_weights(const Module& module, std::string_view state,
                                         const WeightReaders& readers, std::set<std::string> left_out) {
  return WeightChoice(module, state, readers, std::move(left_out)).names();
}

std::optional<std::vector<int64_t>> output_axes(const Node& matmul, unsigned side) {
  const MatmulSpec spec = parse_matmul_spec(matmul.get(attr::spec));
  const std::string &weight = side == 0 ? spec.a : spec.b, &other = side == 0 ? spec.b : spec.a;
  if (weight.size() < 2 || !has(other, weight.back()) || has(spec.out, weight.back())) return std::nullopt;
  std::vector<int64_t> axes;
  for (const char row : weight.substr(0, weight.size() - 1)) {
    if (!has(spec.out, row) || has(other, row)) return std::nullopt;
    axes.push_back(static_cast<int64_t>(spec.out.find(row)));
  }
  return llvm::is_sorted(axes) ? std::optional(axes) : std::nullopt;
}

bool multiplies(const Node& user, const Value& weight) {
  if (!is_matmul(user)) return false;
  return output_axes(user, user.operand(0) == &weight ? 0 : 1).has_value();
}

bool gathers_rows(const Node& user, const Value& weight) {
  return user.is(Op::gather) && user.operand(0) == &weight && user.get(attr::axis) == 0 && weight.rank() == 2;
}

bool stacks(const Node& user, bool any_matmuls) {
  const auto is_parameter = [](const Value* value) { return value->node()->is(Op::parameter); };
  const auto reads = [&](const Node* n) {
    return any_matmuls ? is_matmul(*n) : multiplies(*n, *user.result());
  };
  return user.is(Op::concat) && user.get(attr::axis) == 0 && llvm::all_of(user.operands(), is_parameter) &&
         !user.graph().is_output(user.result()) && llvm::all_of(user.result()->users(), reads);
}

llvm::SmallVector<const Node*, 4> parts_of(const Value& weight) {
  const Node& node = *weight.node();
  if (node.is(Op::parameter)) return {&node};
  llvm::SmallVector<const Node*, 4> nodes;
  for (const Value* operand : node.operands()) nodes.push_back(operand->node());
  return nodes;
}

Value* stacked(GraphBuilder& b, llvm::ArrayRef<Value*> values) {
  return values.size() == 1 ? values[0] : b.concat(values, 0);
}

FlatState::FlatState(std::string name, DType dtype) {
  state_.name = std::move(name), state_.role = Role::parameter, state_.dtype = dtype;
}

void FlatState::append(Segment segment, bool follows) {
  segment.offset = follows ? end_ : aligned(end_);
  end_ = segment.offset + segment.elements();
  state_.segments.push_back(std::move(segment));
}

State FlatState::finished() {
  state_.shape = {std::max(kAlignment, aligned(end_))};
  return std::move(state_);
}

}  // namespace smelt
