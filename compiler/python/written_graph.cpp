#include "compiler/python/written_graph.h"

#include "ir/graph/body.h"
#include "ir/ops/op_attributes.h"
#include "ir/text/text.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt::python {
namespace {

constexpr std::string_view kReduce = "reduce ";

ReduceOp reduction(std::string_view operation) {
  const std::string_view word = operation.substr(kReduce.size());
  if (const auto kind = parse_reduce_op(word)) return *kind;
  fail("there is no reduction '{}'", word);
}

Op operation_of(std::string_view word) {
  if (word.starts_with(kReduce)) return Op::reduce;
  const auto op = parse_op(word);
  if (op && *op != Op::pointwise && *op != Op::input && *op != Op::reduce) return *op;
  if (parse_scalar_op(word)) return Op::pointwise;
  fail("there is no operation '{}'", word);
}

void check_types(std::string_view operation, const Node& node, const std::vector<Type>& types) {
  std::vector<Type> inferred;
  for (const auto& result : node.results()) inferred.push_back(result->type);
  if (types.empty() || types == inferred) return;
  std::string text;
  for (const Type& type : inferred) text += (text.empty() ? "" : ", ") + str(type);
  fail("{} gives {}, which is not the type written", operation, text.empty() ? "no result" : text);
}

/// Names the inputs of a body as the operation does, and those for its arguments a0, a1, ...
void name_inputs(Graph& body, Op op) {
  const llvm::ArrayRef<std::string_view> handed = handed_to_body(op);
  for (const auto [i, input] : llvm::enumerate(body.inputs()))
    input->set(attr::name,
               i < handed.size() ? std::string(handed[i]) : fmt::format("a{}", i - handed.size()));
}

}  // namespace

void set_attribute(Attributes& attributes, std::string_view operation, const std::string& name,
                   Attribute value) {
  const Op op = operation_of(operation);
  const AttributeColumn& column = find_attribute(op, name);
  widen(column, value);
  check_attribute(op, name, column, value);
  attributes[AttributeKey(name)] = std::move(value);
}

WrittenGraph::WrittenGraph(std::shared_ptr<Module> module, WrittenGraph* around)
    : module_(std::move(module)), graph_(std::make_unique<Graph>(*module_)), around_(around) {}

WrittenGraph::WrittenGraph(WrittenGraph& around, const std::vector<Type>& given)
    : WrittenGraph(around.module_, &around) {
  for (const Type& type : given) graph_->create(Op::input, {}, type);
}

Graph& WrittenGraph::graph() const {
  if (!graph_) fail("a body of a node gets no more nodes when the node is written");
  return *graph_;
}

GraphBuilder WrittenGraph::builder() const {
  GraphBuilder builder(graph());
  builder.set_source(source_);
  return builder;
}

Value* WrittenGraph::input(const std::string& name, Type type) {
  return GraphBuilder(graph()).create(Op::input, {}, {attr::name(name)}, std::move(type))->result();
}

std::vector<Value*> WrittenGraph::inputs() const {
  std::vector<Value*> values;
  for (const Node* node : graph().inputs()) values.push_back(node->result());
  return values;
}

void WrittenGraph::set_range(std::string_view input, const IdRange& range) {
  Node* node = graph().find_input(input);
  if (!node) fail("the graph has no input '{}'", input);
  set_id_range(*node, range);
}

Value* WrittenGraph::argument(Value* outside) {
  Value* inside = graph().create(Op::input, {}, outside->type)->result();
  arguments_.push_back(outside);
  return inside;
}

Node* WrittenGraph::node(std::string_view operation, llvm::ArrayRef<Value*> operands, Attributes attributes,
                         const std::vector<Type>& types, WrittenGraph* body) {
  Node* made = body ? created(operation_of(operation), operands, std::move(attributes), *body)
                    : created(operation, operands, std::move(attributes), types);
  check_types(operation, *made, types);
  return made;
}

Node* WrittenGraph::created(std::string_view operation, llvm::ArrayRef<Value*> operands,
                            Attributes attributes, const std::vector<Type>& types) {
  const Op op = operation_of(operation);
  if (op == Op::constant || op == Op::iota) return leaf(op, std::move(attributes), types);
  const ScalarOp scalar = op == Op::pointwise ? *parse_scalar_op(operation) : ScalarOp{};
  const ReduceOp reduce = op == Op::reduce ? reduction(operation) : ReduceOp{};
  const std::vector<Type> declared = info(op).has(Trait::declared) ? types : std::vector<Type>{};
  Node* made = graph().create(op, operands, infer_types(op, scalar, reduce, operands, attributes, declared));
  made->source = source_;
  made->scalar_op = scalar;
  made->reduce_op = reduce;
  made->attributes = std::move(attributes);
  return made;
}

Node* WrittenGraph::created(Op op, llvm::ArrayRef<Value*> operands, Attributes attributes,
                            WrittenGraph& body) {
  if (body.around_ != this) fail("{}: its body belongs to another graph", name(op));
  body.graph().prune();
  name_inputs(body.graph(), op);
  llvm::SmallVector<Value*, 8> all(operands);
  llvm::append_range(all, body.arguments_);
  return builder().create(op, all, std::move(attributes), std::move(body.graph_));
}

Node* WrittenGraph::leaf(Op op, Attributes attributes, const std::vector<Type>& types) {
  std::string key(name(op));
  for (const Type& type : types) key += str(type);
  for (const auto& [attribute, value] : attributes) append_key(key += attribute, value);
  Node*& known = leaves_[key];
  if (!known) known = builder().create(op, {}, std::move(attributes), types);
  return known;
}

void WrittenGraph::returns(llvm::ArrayRef<Value*> values) {
  graph().outputs.clear();
  for (const auto [i, value] : llvm::enumerate(values))
    graph().outputs.push_back({fmt::format("r{}", i), value});
}

std::string WrittenGraph::text(std::string name, std::vector<Graph::Output> results) const {
  Graph& all = graph();
  all.outputs = std::move(results);
  const std::unique_ptr<Graph> needed = all.clone_into(*module_, std::move(name));
  all.outputs.clear();
  needed->prune();
  return print(*needed);
}

}  // namespace smelt::python
