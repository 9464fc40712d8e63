#include "ir/graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {

bool has_pivot(const Shape& shape, llvm::ArrayRef<int64_t> axes) {
  if (axes.empty()) return false;
  const auto last = shape[static_cast<size_t>(*llvm::max_element(axes))].constant();
  return last && *last >= kPivotElements;
}

namespace {
constexpr std::string_view kPhases[] = {"forward", "backward", "update", "tangent"};
}

std::string_view name(Phase phase) { return kPhases[static_cast<size_t>(phase)]; }

std::optional<Phase> parse_phase(std::string_view name) {
  const auto* found = llvm::find(kPhases, name);
  if (found == std::end(kPhases)) return std::nullopt;
  return static_cast<Phase>(found - std::begin(kPhases));
}

std::string str(const Type& type) { return fmt::format("{}{}", name(type.dtype), str(type.shape)); }

namespace {

struct AttributePrinter {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(double v) const {
    std::string text = fmt::format("{}", v);
    // A float keeps a mark that it is one, so that it parses back as a float.
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  std::string operator()(const std::string& v) const { return fmt::format("\"{}\"", v); }
  std::string operator()(const Dim& v) const { return fmt::format("dim({})", v.str()); }
  std::string operator()(const std::vector<int64_t>& v) const {
    return fmt::format("[{}]", fmt::join(v, ", "));
  }
  std::string operator()(const std::vector<double>& v) const {
    std::vector<std::string> items;
    for (double x : v) items.push_back((*this)(x));
    return fmt::format("f[{}]", fmt::join(items, ", "));
  }
  std::string operator()(const Initializer& v) const { return smelt::str(v); }
};

void remove_user(llvm::SmallVectorImpl<Node*>& users, Node* node) { users.erase(llvm::find(users, node)); }

/// Lists and texts begin with their length, so that no two can run into each other.
struct KeyMaker {
  std::string& key;

  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(T value) const {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <typename T>
  void operator()(const std::vector<T>& list) const {
    (*this)(list.size());
    for (const T& item : list) (*this)(item);
  }
  void operator()(const std::string& text) const {
    (*this)(text.size());
    key += text;
  }
  void operator()(const Dim& dim) const {
    const auto number = dim.constant();
    (*this)(number.has_value());
    number ? (*this)(*number) : (*this)(dim.str());
  }
  void operator()(const Initializer& init) const { (*this)(str(init)); }
};

}  // namespace

std::string str(const Attribute& attribute) { return std::visit(AttributePrinter{}, attribute); }

void append_key(std::string& key, const Attribute& attribute) {
  key += static_cast<char>(attribute.index());
  std::visit(KeyMaker{key}, attribute);
}

// ---- Node

void Node::set_operand(unsigned i, Value* value) {
  remove_user(operands_[i]->users_, this);
  operands_[i] = value;
  value->users_.push_back(this);
}

void Node::add_operand(Value* value) {
  operands_.push_back(value);
  value->users_.push_back(this);
}

std::string_view Node::mnemonic() const {
  return op_ == Op::pointwise ? info(scalar_op).name : info(op_).name;
}

std::string Node::describe() const {
  return source.empty() ? std::string(mnemonic()) : fmt::format("{} \"{}\"", mnemonic(), source);
}

std::optional<IdRange> id_range(const Node& input) {
  if (!input.has(attr::below)) return std::nullopt;
  IdRange range{input.get(attr::below)};
  if (input.has(attr::ignored)) range.ignored = input.get(attr::ignored);
  if (input.has(attr::least)) range.least = input.get(attr::least);
  return range;
}

void set_id_range(Node& input, const IdRange& range) {
  input.set(attr::below, range.below);
  input.attributes.remove(attr::ignored), input.attributes.remove(attr::least);
  if (range.ignored) input.set(attr::ignored, *range.ignored);
  if (range.least != 0) input.set(attr::least, range.least);
}

// ---- Graph

Node* Graph::create(Op op, llvm::ArrayRef<Value*> operands, llvm::ArrayRef<Type> results, Node* before) {
  auto position = before ? before->position_ : nodes_.end();
  auto it = nodes_.insert(position, std::unique_ptr<Node>(new Node(this, op)));
  Node* node = it->get();
  node->position_ = it;
  for (Value* operand : operands) node->add_operand(operand);
  for (unsigned i = 0; i < results.size(); ++i)
    node->results_.push_back(std::make_unique<Value>(node, i, results[i]));
  return node;
}

Node* Graph::clone(const Node& node, llvm::ArrayRef<Value*> operands, Node* before) {
  llvm::SmallVector<Type, 2> types;
  for (const auto& result : node.results()) types.push_back(result->type);
  Node* copy = create(node.op(), operands, types, before);
  copy->scalar_op = node.scalar_op;
  copy->reduce_op = node.reduce_op;
  copy->attributes = node.attributes;
  copy->source = node.source;
  copy->phase = node.phase;
  copy->anchored = node.anchored;
  if (node.body) copy->body = node.body->clone_into(*module_, node.body->name);
  for (unsigned i = 0; i < node.result_count(); ++i) {
    copy->result(i)->name = node.result(i)->name;
    copy->result(i)->layout = node.result(i)->layout;
    copy->result(i)->sharding = node.result(i)->sharding;
  }
  return copy;
}

void Graph::replace_all_uses(Value* from, Value* to) {
  replace_uses_if(from, to, [](Node&) { return true; });
  if (!to->sharding) to->sharding = from->sharding;
  for (Output& output : outputs)
    if (output.value == from) output.value = to;
}

void Graph::replace_uses_if(Value* from, Value* to, llvm::function_ref<bool(Node&)> accept) {
  if (from == to) return;
  const llvm::SmallVector<Node*, 8> users(from->users().begin(), from->users().end());
  for (Node* user : users) {
    if (!accept(*user)) continue;
    for (unsigned i = 0; i < user->operands().size(); ++i)
      if (user->operand(i) == from) user->set_operand(i, to);
  }
}

void Graph::erase(Node* node) {
  for (const auto& result : node->results())
    if (!result->users().empty() || is_output(result.get()))
      fail_with(Status::internal, "{}: erased while its result is still used", node->describe());
  for (Value* operand : node->operands()) remove_user(operand->users_, node);
  nodes_.erase(node->position_);
}

void Graph::move_before(Node* node, Node* before) {
  nodes_.splice(before ? before->position_ : nodes_.end(), nodes_, node->position_);
}

bool Graph::prune() {
  llvm::DenseSet<const Value*> kept;
  for (const Output& output : outputs) kept.insert(output.value);
  bool changed = false;
  for (auto it = nodes_.end(); it != nodes_.begin();) {
    Node* node = (--it)->get();
    if (info(node->op()).has(Trait::effect) || node->is(Op::input)) continue;
    const bool used = llvm::any_of(
        node->results(), [&](const auto& r) { return !r->users().empty() || kept.contains(r.get()); });
    if (used) continue;
    for (Value* operand : node->operands()) remove_user(operand->users_, node);
    it = nodes_.erase(it);
    changed = true;
  }
  return changed;
}

bool Graph::is_output(const Value* value) const {
  return llvm::any_of(outputs, [&](const Output& output) { return output.value == value; });
}

Node* Graph::find_input(std::string_view name) const {
  for (Node* node : inputs())
    if (node->get(attr::name) == name) return node;
  return nullptr;
}

std::vector<Node*> Graph::inputs() const {
  std::vector<Node*> result;
  for (const auto& node : nodes_)
    if (node->is(Op::input)) result.push_back(node.get());
  return result;
}

Node* Graph::next(const Node* node) const {
  auto it = std::next(node->position_);
  return it == nodes_.end() ? nullptr : it->get();
}

Node* Graph::previous(const Node* node) const {
  if (!node) return nodes_.empty() ? nullptr : nodes_.back().get();
  const auto& position = node->position_;
  return position == nodes_.begin() ? nullptr : std::prev(position)->get();
}

std::unique_ptr<Graph> Graph::clone_into(Module& module, std::string name) const {
  auto copy = std::make_unique<Graph>(module, std::move(name));
  llvm::DenseMap<const Value*, Value*> map;
  for (const auto& node : nodes_) {
    llvm::SmallVector<Value*, 4> operands;
    for (Value* operand : node->operands()) operands.push_back(map.at(operand));
    Node* twin = copy->clone(*node, operands);
    for (unsigned i = 0; i < node->result_count(); ++i) map[node->result(i)] = twin->result(i);
  }
  for (const Output& output : outputs) copy->outputs.push_back({output.name, map.at(output.value)});
  return copy;
}

void Graph::sort() {
  llvm::DenseSet<const Node*> placed, waiting;  // `waiting` finds circles, which would go on for ever
  std::list<std::unique_ptr<Node>> sorted;
  // Depth first along operands, in the present order; iterative because graphs are deep.
  std::vector<Node*> stack, order;
  for (const auto& root : nodes_) {
    stack.push_back(root.get());
    while (!stack.empty()) {
      Node* node = stack.back();
      if (placed.contains(node)) {
        stack.pop_back();
        continue;
      }
      const size_t before = stack.size();
      for (Value* operand : llvm::reverse(node->operands())) {
        if (placed.contains(operand->node())) continue;
        if (operand->node() == node || waiting.contains(operand->node()))
          fail_with(Status::internal, "@{}: {} and {} are computed from each other", name, node->describe(),
                    operand->node()->describe());
        stack.push_back(operand->node());
      }
      waiting.insert(node);
      if (stack.size() != before) continue;
      placed.insert(node), waiting.erase(node);
      order.push_back(node);
      stack.pop_back();
    }
  }
  for (Node* node : order) sorted.splice(sorted.end(), nodes_, node->position_);
  nodes_ = std::move(sorted);
}

// ---- Module

Graph& Module::add_graph(std::string name) {
  if (find_graph(name)) fail("graph @{} is defined twice", name);
  graphs.push_back(std::make_unique<Graph>(*this, std::move(name)));
  return *graphs.back();
}

Graph* Module::find_graph(std::string_view name) const {
  for (const auto& graph : graphs)
    if (graph->name == name) return graph.get();
  return nullptr;
}

Module::Parameter* Module::find_parameter(std::string_view name) {
  for (Parameter& parameter : parameters)
    if (parameter.name == name) return &parameter;
  return nullptr;
}

State* Module::find_state(std::string_view name) {
  for (State& state : states)
    if (state.name == name) return &state;
  return nullptr;
}

int Module::buffer_of(std::string_view state) const {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].state >= 0 && states[static_cast<size_t>(buffers[i].state)].name == state)
      return static_cast<int>(i);
  return -1;
}

const Segment* find_segment(const State& state, std::string_view name) {
  const auto found =
      llvm::find_if(state.segments, [&](const Segment& segment) { return segment.name == name; });
  return found == state.segments.end() ? nullptr : &*found;
}

namespace {

bool is_flat_state_of_parameters(const State& state) {
  return state.name == kParameters || state.name == kFrozenParameters || state.name == kQuantizedParameters ||
         state.name == kPackedParameters;
}

}  // namespace

const State* Module::find_parameter_state(std::string_view parameter, DType dtype) const {
  for (const State& state : states)
    if (state.dtype == dtype && (is_flat_state_of_parameters(state) || state.copy_of == kParameters) &&
        find_segment(state, parameter))
      return &state;
  return nullptr;
}

const State* Module::state_of_parameter(std::string_view parameter) const {
  for (const State& state : states)
    if (is_flat_state_of_parameters(state) && find_segment(state, parameter)) return &state;
  return nullptr;
}

std::unique_ptr<Module> Module::clone() const {
  auto copy = std::make_unique<Module>();
  copy->mesh_ = mesh_;
  copy->symbols = symbols;
  copy->partitioned = partitioned;
  copy->stage = stage;
  copy->parameters = parameters;
  copy->adjacent = adjacent;
  copy->states = states;
  copy->buffers = buffers;
  copy->random_ids = random_ids;
  copy->description = description;
  for (const auto& graph : graphs) copy->graphs.push_back(graph->clone_into(*copy, graph->name));
  return copy;
}

}  // namespace smelt
